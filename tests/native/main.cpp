// Runs the tests whose names contain the argument, or all, and prints the slowest.
#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {
using Clock = std::chrono::steady_clock;

void show_slowest(std::vector<std::pair<double, std::string>> took) {
  std::ranges::sort(took, std::greater());
  took.resize(std::min<std::size_t>(took.size(), 8));
  for (const auto& [seconds, name] : took) std::cout << seconds << " s " << name << "\n";
}
}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  int ran = 0, failed = 0;
  std::vector<std::pair<double, std::string>> took;
  for (const check::Test& test : check::tests()) {
    if (test.name.find(wanted) == std::string::npos) continue;
    ++ran;
    const Clock::time_point began = Clock::now();
    try {
      test.run();
    } catch (const std::exception& error) {
      ++failed;
      std::cout << "FAILED " << test.name << ": " << error.what() << "\n";
    }
    took.emplace_back(std::chrono::duration<double>(Clock::now() - began).count(), test.name);
  }
  show_slowest(std::move(took));
  std::cout << check::cases() << " random cases\n";
  std::cout << ran << " tests, " << failed << " failed\n";
  return ran == 0 || failed != 0 ? 1 : 0;
}
