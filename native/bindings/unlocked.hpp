// Lets the other threads of Python run, in place of pybind11's gil_scoped_release.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace sortcore::python {

// While one lives, its thread does not hold the interpreter's lock. A daemon thread that wants the lock back
// when the interpreter is ending is ended by pthread_exit, as far as Python 3.13; that unwinds the stack,
// through destructors that need the lock, and a destructor that it leaves would end the whole process. Such a
// thread sleeps until the process ends, as Python 3.14 lets it.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

#ifdef __GLIBCXX__
  ~Unlocked() {
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      for (;;) ::pause();
    }
  }
#else
  ~Unlocked() { PyEval_RestoreThread(state_); }
#endif

 private:
  PyThreadState* state_;
};

}  // namespace sortcore::python
