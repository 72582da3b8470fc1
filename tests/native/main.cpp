// Runs the tests whose names contain the argument, or all.
#include <exception>
#include <iostream>
#include <string>

#include "check.hpp"

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  int ran = 0, failed = 0;
  for (const check::Test& test : check::tests()) {
    if (test.name.find(wanted) == std::string::npos) continue;
    ++ran;
    try {
      test.run();
    } catch (const std::exception& error) {
      ++failed;
      std::cout << "FAILED " << test.name << ": " << error.what() << "\n";
    }
  }
  std::cout << check::cases() << " random cases\n";
  std::cout << ran << " tests, " << failed << " failed\n";
  return ran == 0 || failed != 0 ? 1 : 0;
}
