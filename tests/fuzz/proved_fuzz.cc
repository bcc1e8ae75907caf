// SESSION/proved.json (analysis/proof/proved.h): what can be read can be written and read again, and withdraws the same findings.
#include "analysis/proof/proved.h"
#include "target.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const Result<ProvedSession> proved =
      proved_from_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!proved) {
    require(proved.error().c_str()[0] != 0, "an error says something");
    return;
  }
  const std::string written = proved_json(*proved);
  const Result<ProvedSession> again = proved_from_json(written);
  require(again.ok(), "what was written can be read");
  require(proved_json(*again) == written, "it is the same");
  require(withdrawn_keys(*again).size() == withdrawn_keys(*proved).size(), "the same findings are withdrawn");
  ProvedSession both = *proved;
  keep_proved(*again, both);
  require(both.corrections.size() >= proved->corrections.size(), "what was proved is kept");
}

}  // namespace diogenes::fuzz
