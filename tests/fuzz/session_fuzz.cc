// session.json (trace/session.h): what can be read can be written and read again, and is the same.
#include "target.h"
#include "trace/session.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  write_file(scratch_folder() / "session.json", bytes);
  Result<Session> session = read_session(scratch_folder());
  if (!session) {
    require(session.error().c_str()[0] != 0, "an error says something");
    return;
  }
  require(write_session(scratch_folder(), *session).ok(), "a session that was read can be written");
  Result<Session> again = read_session(scratch_folder());
  require(again.ok(), "a session that was written can be read");
  require(again->runs.size() == session->runs.size() && again->command == session->command &&
              again->started_ns == session->started_ns && again->request.repeat == session->request.repeat &&
              again->finished == session->finished,
          "it is the same session");
}

}  // namespace diogenes::fuzz
