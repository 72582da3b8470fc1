#include "sortcore/io/monitor.hpp"

#include <utility>

namespace sortcore {

std::unique_lock<std::mutex> Monitor::lock() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  lock.lock();
  ++counts_.lock_waits;
  return lock;
}

MeetingCounts Monitor::counts() {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Monitor::fail(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  for (Condition* condition : conditions_) condition->notify_all();
}

void Monitor::check() {
  const std::lock_guard lock(mutex_);
  check_locked();
}

void Monitor::check_locked() const {
  if (failure_) throw Stopped{};
  throw_if_cancelled(progress_);
}

std::exception_ptr Monitor::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Condition::Condition(Monitor& monitor) : monitor_(monitor) {
  const auto lock = monitor_.lock();
  monitor_.conditions_.push_back(this);
}

Condition::~Condition() {
  const auto lock = monitor_.lock();
  std::erase(monitor_.conditions_, this);
}

ThreadGroup::~ThreadGroup() {
  if (is_joined_) return;
  monitor_.fail(std::make_exception_ptr(Stopped{}));
}

void ThreadGroup::start(unsigned count, std::function<void()> work) {
  is_joined_ = false;
  for (unsigned i = 0; i < count; ++i) {
    threads_.start([&monitor = monitor_, work] {
      try {
        work();
      } catch (const Stopped&) {
      } catch (...) {
        monitor.fail(std::current_exception());
      }
    });
  }
}

void ThreadGroup::join() {
  threads_.wait();
  is_joined_ = true;
  if (const std::exception_ptr failure = monitor_.failure()) std::rethrow_exception(failure);
}

}  // namespace sortcore
