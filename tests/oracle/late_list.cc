// late-list SESSION: the waits that a session calls needless or movable, as the adversarial driver wants them
// (sim/late/late.h); with --all, every site with its verdict. For trying one's own program by hand:
//   late-list S > F; DIOGENES_SIMULATED_LATE=F LD_LIBRARY_PATH=build/lib/simulated PROGRAM
#include <cstdio>
#include <cstring>

#include "oracle.h"

using namespace diogenes::oracle;

int main(int argc, char** argv) {
  const bool all = argc == 3 && strcmp(argv[1], "--all") == 0;
  if (argc != 2 && !all) {
    fprintf(stderr, "late-list [--all] SESSION\n");
    return 2;
  }
  std::vector<SiteVerdict> sites;
  const std::string trouble = load_sites(argv[argc - 1], &sites);
  if (!trouble.empty()) {
    fprintf(stderr, "late-list: %s\n", trouble.c_str());
    return 1;
  }
  if (!all) fputs(late_list(sites).c_str(), stdout);
  for (const SiteVerdict& site : all ? sites : std::vector<SiteVerdict>{}) {
    printf("%s: %lu of %lu unnecessary, %lu movable, reasons %s\n ", site.function.c_str(),
           static_cast<unsigned long>(site.unnecessary), static_cast<unsigned long>(site.instances),
           static_cast<unsigned long>(site.movable), reason_words(site.reasons).c_str());
    for (const CodePlace& place : site.stack)
      printf(" %s+%#lx", place.module.c_str(), static_cast<unsigned long>(place.offset));
    printf("\n");
  }
  return 0;
}
