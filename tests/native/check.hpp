// Tests without a framework: TEST(name) { ... CHECK(condition); CHECK_EQUAL(a, b); CHECK_THROWS(code,
// expression); }, or THREADED_TEST where threads meet.
//
// The first failed check of a test ends it; main.cpp runs all tests and counts the failures.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sortcore/error.hpp"

namespace check {

struct Test {
  std::string name;
  std::function<void()> run;
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

// Sanitizers make everything some ten times slower, so there is less of it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// The thread sanitizer can find nothing in single-threaded code.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool only_threaded = true;
#else
inline constexpr bool only_threaded = false;
#endif

struct Registration {
  Registration(const char* name, void (*run)(), bool is_threaded) {
    if (is_threaded || !only_threaded) tests().push_back({name, run});
  }
};

// Factor on the usual number of random cases: the long run sets SORTCORE_TEST_EFFORT.
inline std::uint64_t effort() {
  const char* wanted = std::getenv("SORTCORE_TEST_EFFORT");
  return wanted == nullptr ? 1 : std::strtoull(wanted, nullptr, 10);
}

// True if a usual run under a sanitizer leaves out this case of a test: it takes one in `one_in`, the thread
// sanitizer, which is slowest, one in `of_threads`. The long runs take all.
inline bool leaves_out(std::uint64_t turn, std::uint64_t one_in, std::uint64_t of_threads) {
  if (!sanitized || effort() > 1) return false;
  return turn % (only_threaded ? of_threads : one_in) != 0;
}

// Random cases compared with the standard library so far.
inline std::uint64_t& cases() {
  static std::uint64_t count = 0;
  return count;
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

template <typename A, typename B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::ostringstream message;
  message << text << ": " << a << " is not " << b;
  fail(file, line, message.str());
}

template <typename Work>
void throws(sortcore::ErrorCode code, const Work& work, const char* text, const char* file, int line) {
  try {
    work();
  } catch (const sortcore::Error& error) {
    if (error.code() == code) return;
    fail(file, line, std::string(text) + " threw another error: " + error.what());
  }
  fail(file, line, std::string(text) + " threw nothing");
}

}  // namespace check

#define REGISTER_TEST(name, is_threaded)                                             \
  static void test_##name();                                                         \
  static const check::Registration register_##name(#name, test_##name, is_threaded); \
  static void test_##name()
#define TEST(name) REGISTER_TEST(name, false)
#define THREADED_TEST(name) REGISTER_TEST(name, true)
#define CHECK(condition) \
  if (!(condition)) check::fail(__FILE__, __LINE__, #condition)
#define CHECK_EQUAL(a, b) check::equal(a, b, #a " == " #b, __FILE__, __LINE__)
#define CHECK_THROWS(code, expression) \
  check::throws(sortcore::ErrorCode::code, [&] { expression; }, #expression, __FILE__, __LINE__)
