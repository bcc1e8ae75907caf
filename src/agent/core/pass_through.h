// While one of these lives, the calling thread is about the agent's own work: its hooks pass straight through, and it is not
// cancelled, since files are opened here, and locks are held.
#pragma once

namespace diogenes::agent {

class PassThrough {
 public:
  PassThrough();
  ~PassThrough();
  PassThrough(const PassThrough&) = delete;
  PassThrough& operator=(const PassThrough&) = delete;

 private:
  int cancel_state_;  // before
};

}  // namespace diogenes::agent
