// The tree of calling contexts as text: figures first, names indented. By default the hot path and what takes most,
// in some 60 lines.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "views/shared/context_tree.h"
#include "views/text/page.h"

namespace diogenes {

struct TreeTextOptions {
  TreeView view = TreeView::top_down;
  std::vector<TreeColumn> columns;  // empty: those that fit
  std::optional<TreeColumn> sort;   // none: usual_column()
  std::optional<size_t> depth;      // levels, all of each; none: what takes most
  size_t top = 10;                  // rows below a row, and roots
};

void tree_text(Page& page, const ReportProfile& profile, const TreeTextOptions& options);

// By GPU time where there is any, else by the threads' time.
TreeColumn usual_column(const ContextTree& tree);

// A row's figure, in words: "12.3 ms", "1,000", "GPU 25.0%"; "-": nothing.
std::string tree_cell(const ContextRows& rows, uint32_t number, TreeColumn column);
size_t tree_column_width(TreeColumn column);
// Columns for a width, of which `name` is left for the names.
std::vector<TreeColumn> fitting_columns(size_t width, size_t name);
// "als::iterate", as short as the room; never empty.
std::string tree_name(const ContextRows& rows, uint32_t number, size_t room);
// "als.cc:204": a line of the function, from which it calls, or where a call is made; "": not known.
std::string tree_place(const ContextRows& rows, uint32_t number);

// "  62.5%" in so many columns: of all that the view has.
std::string share_text(const ContextRows& rows, uint32_t number, TreeColumn column, size_t width);

// All figures of a row, in words.
void context_details(Page& page, const ContextRows& rows, uint32_t number, const std::string& folder);

}  // namespace diogenes
