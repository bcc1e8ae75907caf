// The thread to which a random program lends buffers. Which, and in what ways, it knows from the program's
// start, so that nothing but the hand-over itself tells it to go on.
#pragma once
#include <memory>
#include <semaphore>
#include <vector>

#include "program.h"
#include "scenes/hand_over.h"

namespace random_program {

class Borrower {
 public:
  // Started at once, and never ended. `use`: of the buffer that the operation names; its result is
  // take_in()'s.
  explicit Borrower(uint64_t (*use)(const Operation&));

  // All loans of the program before are over.
  void begin(const Program& program);
  // The next Kind::lend of the program. The borrower uses the buffer at once, on the adversarial driver and
  // where the operation's value is even; else when the program takes it in.
  void lend();
  uint64_t take_in();

 private:
  struct Loan {
    explicit Loan(const Operation& operation);
    const Operation operation;
    scenes::Baton told, over{scenes::How::semaphore};
    scenes::Chance chance;  // second: the borrower
    uint64_t seen = 0;
  };
  void run(uint64_t (*use)(const Operation&));

  std::binary_semaphore started_{0};
  std::atomic<bool> running_{false};  // it still looks at the loans
  std::vector<std::unique_ptr<Loan>> loans_;
  size_t next_ = 0;
};

}  // namespace random_program
