// The report as text: what a user reads first. A headline; what is missing; one line a finding; why and what to do for
// the first of them; needed waits that cost most; what the reader must know about the measurement; and last what to
// type next. 40 lines, unless more is asked for. ASCII only; colours only where they are wanted.
#pragma once
#include <string>

#include "analysis/report/report.h"
#include "views/shared/occurrences.h"
#include "views/shared/outline.h"
#include "views/text/tree_text.h"

namespace diogenes {

struct TextOptions {
  int top = 10;     // findings shown; 0 or less: all
  int width = 100;  // characters a line; paths and commands are never broken
  bool color = false;
  std::string
      details;  // "all", or the id of a problem, group or needed wait; "": the first findings, briefly
  bool sequences = false;               // problems that follow each other
  bool profile = false;                 // time by driver function
  bool kernels = false;                 // GPU work alone, in full
  std::optional<TreeTextOptions> tree;  // where time goes, alone; its `top` is the one above
  Order order = Order::benefit;         // of the findings, and what their last column has
  std::string kind;                     // findings with a problem of this kind; "": any
  ProcessChoice processes;              // findings and needed waits that occur in these
  std::string working_folder;           // paths are shown relative to it
  std::string session;                  // as its user would type it; "": the newest
};

std::string to_text(const Report& report, const TextOptions& options = {});

// Is there a finding, group, needed wait or kernel with this id?
bool has_id(const Report& report, const std::string& id);

}  // namespace diogenes
