// The stored form of a Summary, all integers little-endian:
//
//   8 bytes   "SORTSUM1"
//   3 x u32   record_bytes, key_offset, key_bytes
//   4 x u64   records, unordered, first_unordered (all ones: none), duplicates
//   2 x u64   checksum, low half first
//   2 records first and last, absent when there are no records
//   u32       CRC-32 of everything before
#include <concepts>
#include <cstring>

#include "sortcore/error.hpp"
#include "sortcore/validation/crc32.hpp"
#include "sortcore/validation/validate.hpp"

namespace sortcore {
namespace {

constexpr char magic[] = "SORTSUM1";
constexpr std::size_t magic_bytes = sizeof magic - 1;

class Writer {
 public:
  template <std::unsigned_integral Integer>
  void put(Integer value) {
    for (std::size_t i = 0; i < sizeof value; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::byte> finish() && {
    put(crc32(bytes_));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  template <std::unsigned_integral Integer>
  Integer take() {
    Integer value = 0;
    const std::span<const std::byte> from = take(sizeof value);
    for (std::size_t i = 0; i < sizeof value; ++i)
      value |= static_cast<Integer>(static_cast<Integer>(from[i]) << (8 * i));
    return value;
  }
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) fail("it ends too early");
    const std::span<const std::byte> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  void expect(bool right, const char* why) const {
    if (!right) fail(why);
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  [[noreturn]] void fail(const char* why) const {
    throw Error(ErrorCode::bad_record, (path_.empty() ? "this" : path_) + " is no validation summary: " + why,
                path_);
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
};

RecordFormat read_format(Reader& from) {
  RecordFormat format;
  format.record_bytes = from.take<std::uint32_t>();
  format.key_offset = from.take<std::uint32_t>();
  format.key_bytes = from.take<std::uint32_t>();
  from.expect(format.record_bytes > 0 && format.key_bytes > 0 && format.key_bytes <= format.record_bytes &&
                  format.key_offset <= format.record_bytes - format.key_bytes,
              "its record format is impossible");
  return format;
}

void check_counts(const Summary& summary, const Reader& from) {
  const std::uint64_t pairs = summary.records == 0 ? 0 : summary.records - 1;
  from.expect(summary.unordered <= pairs && summary.duplicates <= pairs - summary.unordered,
              "it counts more pairs than there are");
  from.expect((summary.unordered == 0) == (summary.first_unordered == Summary::none) &&
                  (summary.unordered == 0 ||
                   (summary.first_unordered >= 1 && summary.first_unordered < summary.records)),
              "its first unordered record does not fit its counts");
}

void read_ends(Summary& summary, Reader& from) {
  if (summary.records == 0) return;
  for (std::vector<std::byte>* record : {&summary.first_record, &summary.last_record}) {
    const std::span<const std::byte> bytes = from.take(summary.format.record_bytes);
    record->assign(bytes.begin(), bytes.end());
  }
}

}  // namespace

std::vector<std::byte> serialize_summary(const Summary& summary) {
  Writer to;
  to.append(std::as_bytes(std::span(magic, magic_bytes)));
  for (const std::uint32_t value :
       {summary.format.record_bytes, summary.format.key_offset, summary.format.key_bytes}) {
    to.put(value);
  }
  for (const std::uint64_t value : {summary.records, summary.unordered, summary.first_unordered,
                                    summary.duplicates, low64(summary.checksum), high64(summary.checksum)}) {
    to.put(value);
  }
  to.append(summary.first_record);
  to.append(summary.last_record);
  return std::move(to).finish();
}

Summary parse_summary(std::span<const std::byte> bytes, const std::string& path) {
  Reader from(bytes, path);
  from.expect(std::memcmp(from.take(magic_bytes).data(), magic, magic_bytes) == 0,
              "it does not begin with SORTSUM1");
  Summary summary(read_format(from));
  summary.records = from.take<std::uint64_t>();
  summary.unordered = from.take<std::uint64_t>();
  summary.first_unordered = from.take<std::uint64_t>();
  summary.duplicates = from.take<std::uint64_t>();
  const auto low = from.take<std::uint64_t>();
  summary.checksum = make_u128(from.take<std::uint64_t>(), low);
  check_counts(summary, from);
  read_ends(summary, from);
  const std::uint32_t expected = crc32(bytes.first(bytes.size() - from.left()));
  from.expect(from.take<std::uint32_t>() == expected, "its CRC-32 does not match");
  from.expect(from.left() == 0, "something follows its end");
  return summary;
}

}  // namespace sortcore
