// STXXL sorts a file of records into another, for bench_two_passes.py: its sorter between two vectors that
// lie in the files, with direct transfers and prefetching, as its manual advises for data that streams
// through.
//
//   STXXLCFG=stxxl.cfg peer_stxxl INPUT OUTPUT MEMORY_BYTES     stxxl.cfg says where runs go

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <stxxl/io>
#include <stxxl/sorter>
#include <stxxl/vector>

namespace {

constexpr unsigned block_bytes =
    4'096'000;  // whole records and whole pages, so that a vector is a plain file

struct Record {
  unsigned char bytes[100];
};

struct ByKey {
  bool operator()(const Record& a, const Record& b) const { return std::memcmp(a.bytes, b.bytes, 10) < 0; }
  Record min_value() const { return filled(0); }
  Record max_value() const { return filled(std::numeric_limits<unsigned char>::max()); }

  static Record filled(unsigned char value) {
    Record record;
    std::memset(record.bytes, value, sizeof record.bytes);
    return record;
  }
};

using Records = stxxl::VECTOR_GENERATOR<Record, 4, 4, block_bytes>::result;

void sort(const std::string& from, const std::string& to, std::size_t memory_bytes) {
  using stxxl::file;
  stxxl::syscall_file source(from, file::RDONLY | file::DIRECT);
  stxxl::syscall_file target(to, file::CREAT | file::RDWR | file::DIRECT);
  const std::uint64_t bytes = source.size();
  stxxl::sorter<Record, ByKey> sorter(ByKey(), memory_bytes);
  {
    const Records input(&source, bytes / sizeof(Record));
    for (Records::bufreader_type reader(input); !reader.empty(); ++reader) sorter.push(*reader);
  }
  sorter.sort();
  {
    Records output(&target, bytes / sizeof(Record));
    Records::bufwriter_type writer(output);
    for (; !sorter.empty(); ++sorter) writer << *sorter;
    writer.finish();
  }
  target.set_size(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr
        << "usage: peer_stxxl INPUT OUTPUT MEMORY_BYTES, STXXLCFG naming a file that says where runs go\n";
    return 2;
  }
  sort(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
}
