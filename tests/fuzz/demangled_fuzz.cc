// Names of functions (base/demangled_name.h), and what is made of them for keys and for lines of a report.
#include "analysis/symbols/symbols.h"
#include "base/demangled_name.h"
#include "target.h"
#include "views/shared/places.h"

namespace diogenes::fuzz {

void run_on(std::span<const uint8_t> bytes) {
  const std::string_view name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t end = 0;
  NameReader reader(name);
  while (const auto piece = reader.next()) {
    require(piece->begin == end && !piece->text.empty(), "pieces lie one behind the other");
    end += piece->text.size();
    require(end <= name.size() && piece->text.data() == name.data() + piece->begin,
            "a piece lies in the name");
  }
  require(end == name.size(), "pieces cover the name");
  require(Symbolizer::base_name(name).empty() == name.empty(), "a name keeps a name");
  require(short_function(name).size() <= name.size(), "a short name is no longer");
}

}  // namespace diogenes::fuzz
