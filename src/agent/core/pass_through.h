// While one of these lives, the calling thread's hooks pass straight through: the agent's own calls into the
// driver.
#pragma once

namespace diogenes::agent {

class PassThrough {
 public:
  PassThrough();
  ~PassThrough();
  PassThrough(const PassThrough&) = delete;
  PassThrough& operator=(const PassThrough&) = delete;
};

}  // namespace diogenes::agent
