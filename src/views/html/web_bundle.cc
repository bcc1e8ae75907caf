#include "views/html/web_bundle.h"

extern "C" {
extern const char diogenes_page_script[], diogenes_page_script_end[];
extern const char diogenes_page_style[], diogenes_page_style_end[];
}

namespace diogenes {

std::string_view page_script() {
  return {diogenes_page_script, static_cast<size_t>(diogenes_page_script_end - diogenes_page_script)};
}

std::string_view page_style() {
  return {diogenes_page_style, static_cast<size_t>(diogenes_page_style_end - diogenes_page_style)};
}

}  // namespace diogenes
