#include "sortcore/gensort/generate_lines.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <string_view>

#include "lines/newlines.hpp"
#include "random_sequence.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/lines/line_format.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::array<std::string_view, 4> levels{"DEBUG", "INFO ", "WARN ", "ERROR"};
constexpr std::array<std::string_view, 6> services{"checkout", "search",  "auth",
                                                   "billing",  "gateway", "image-resizer"};
constexpr std::array<std::string_view, 4> methods{"GET", "PUT", "POST", "DELETE"};
constexpr std::array<std::string_view, 5> agents{
    "curl/8.9", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Mobile/15E148", "python-requests/2.32", "-"};

class LineWriter {
 public:
  explicit LineWriter(RandomSequence& random) : random_(random) {}

  std::string_view line() {
    length_ = 0;
    const std::uint64_t second = random_.below(86'400);
    print("2026-11-%02u", 1 + pick(30));
    print("T%02u:%02u:%02u.%06uZ ", static_cast<unsigned>(second / 3600),
          static_cast<unsigned>(second / 60 % 60), static_cast<unsigned>(second % 60), pick(1'000'000));
    print("node-%03u ", pick(400));
    add(levels[std::min<std::size_t>(random_.below(8), levels.size() - 1)]);
    add(" ");
    add(services[random_.below(services.size())]);
    print("[%u]: ", 1000 + pick(60'000));
    if (random_.below(20) == 0) return trace();
    add(methods[random_.below(methods.size())]);
    print(" /api/v2/items/%08x/%u?page=%u", pick(UINT32_MAX), pick(100'000), pick(50));
    print(" %u %u bytes %u us ", 200 + 100 * pick(4), pick(200'000), pick(2'000'000));
    add(agents[random_.below(agents.size())]);
    return {line_.data(), length_};
  }

 private:
  std::string_view trace() {
    add("unhandled exception");
    for (std::uint64_t frames = 1 + random_.below(8); frames > 0; --frames)
      print(" at module_%u.function_%u:%u", pick(300), pick(5'000), pick(2'000));
    return {line_.data(), length_};
  }
  unsigned pick(std::uint64_t bound) { return static_cast<unsigned>(random_.below(bound)); }
  void add(std::string_view words) {
    std::ranges::copy(words, line_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += words.size();
  }
  template <typename... Values>
  void print(const char* format, Values... values) {
    const int written = std::snprintf(line_.data() + length_, line_.size() - length_, format, values...);
    length_ += static_cast<std::size_t>(written);
  }

  RandomSequence& random_;
  std::array<char, 1024> line_;
  std::size_t length_ = 0;
};

}  // namespace

void generate_lines(std::uint64_t seed, std::uint64_t block, std::span<std::byte> out) {
  RandomSequence random((seed << 32) ^ block);
  LineWriter writer(random);
  while (!out.empty()) {
    const auto line = std::as_bytes(std::span(writer.line()));
    const std::size_t fitting = std::min(line.size(), out.size() - 1);
    std::copy_n(line.data(), fitting, out.data());
    out[fitting] = newline;
    out = out.subspan(fitting + 1);
  }
}

std::uint64_t generate_lines_file(const std::string& path, std::uint64_t bytes, std::uint64_t seed,
                                  unsigned threads, Progress* progress, bool replaces) {
  if (bytes > INT64_MAX)
    throw Error(ErrorCode::bad_input, "no file can hold " + std::to_string(bytes) + " bytes", path);
  if (progress != nullptr) progress->begin_phase(0, bytes);
  OutputFile output(path, bytes, File::Caching::direct);
  if (!replaces) output.replace_nothing();
  std::atomic<std::uint64_t> next_block{0}, lines{0};
  run_parallel(resolve_threads(threads), [&](unsigned) {
    Buffer memory(generated_text_block_bytes);
    for (std::uint64_t block = next_block++; block * generated_text_block_bytes < bytes;
         block = next_block++) {
      throw_if_cancelled(progress);
      const std::uint64_t at = block * generated_text_block_bytes;
      const auto text = memory.first(std::min<std::uint64_t>(generated_text_block_bytes, bytes - at));
      generate_lines(seed, block, text);
      output.file().write_exactly(text.data(), text.size(), at);
      lines += count_newlines(text);
      add_progress(progress, text.size());
    }
  });
  output.commit();
  return lines;
}

}  // namespace sortcore
