#include "borrower.h"

#include <unistd.h>

#include <thread>

namespace random_program {

Borrower::Loan::Loan(const Operation& o)
    : operation(o), told(static_cast<scenes::How>(o.how)), chance(scenes::is_late() || o.value % 2 == 0) {}

Borrower::Borrower(uint64_t (*use)(const Operation&)) {
  std::thread([this, use] { run(use); }).detach();
}

void Borrower::run(uint64_t (*use)(const Operation&)) {
  for (;;) {
    started_.acquire();
    for (const auto& loan : loans_) {
      loan->told.take();
      loan->chance.before_second();
      loan->seen = use(loan->operation);
      loan->chance.after_second();
      loan->over.give();
    }
    running_.store(false);
  }
}

void Borrower::begin(const Program& program) {
  while (running_.load()) usleep(20);
  loans_.clear();
  next_ = 0;
  for (const Operation& operation : program.operations)
    if (operation.kind == Kind::lend) loans_.push_back(std::make_unique<Loan>(operation));
  running_.store(true);
  started_.release();
}

void Borrower::lend() {
  Loan& loan = *loans_[next_];
  loan.told.give();
  loan.chance.before_first();
}

uint64_t Borrower::take_in() {
  Loan& loan = *loans_[next_++];
  loan.chance.after_first();
  loan.over.take();
  return loan.seen;
}

}  // namespace random_program
