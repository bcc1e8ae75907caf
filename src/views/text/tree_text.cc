#include "views/text/tree_text.h"
#include "views/shared/shortened_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>

#include "views/shared/figures.h"
#include "views/shared/kernel_words.h"
#include "views/shared/places.h"
#include "views/text/gpu_work.h"

namespace diogenes {
namespace {

constexpr size_t kTreeLines = 50;      // rows, where no depth was asked for
constexpr double kLeastShare = 0.005;  // of the whole; what has less is not unfolded to
constexpr size_t kLeastName = 24;
constexpr size_t kPercentWidth = 7, kItselfWidth = 10;
constexpr size_t kShortestChain = 3;             // rows of a library's that become one
constexpr double kPassedOn = 0.99;               // of its time, by each of them
constexpr size_t kPathBegin = 8, kPathEnd = 12;  // rows of a long hot path that are shown

struct Heading {
  const char* text;
  size_t width;
};
Heading heading_of(TreeColumn column) {
  const auto name = std::string_view(name_of(column));
  return {name.data(), std::max<size_t>(name.size() + 1, 9)};
}

const char* phrase_of(TreeColumn column) {
  switch (column) {
    case TreeColumn::time:
      return "the threads' time";
    case TreeColumn::cpu:
      return "CPU time";
    case TreeColumn::driver:
      return "time in the driver";
    case TreeColumn::waited:
      return "time waited";
    case TreeColumn::idle:
      return "time in which the GPU is idle";
    case TreeColumn::gpu:
      return "GPU time";
    case TreeColumn::recoverable:
      return "what fixing the findings saves";
    case TreeColumn::gain:
      return "what the run gains if it takes half as long";
    case TreeColumn::count:
      return "count";
    case TreeColumn::importance:
      return "importance";
  }
  return "";
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class TreeWriter {
 public:
  TreeWriter(Page& page, const ContextTree& tree, const TreeTextOptions& options)
      : page_(page),
        options_(options),
        rows_(tree, options.view),
        sort_(options.sort.value_or(usual_column(tree))),
        columns_(options.columns) {
    const size_t percent = options.view == TreeView::flat ? kItselfWidth : kPercentWidth;
    if (columns_.empty())
      columns_ = fitting_columns(page.width() - percent - 2, std::max(kLeastName, page.width() * 2 / 5));
    if (options.columns.empty() && std::find(columns_.begin(), columns_.end(), sort_) == columns_.end())
      columns_.push_back(sort_);
    size_t used = 2;
    for (const TreeColumn column : columns_) used += tree_column_width(column);
    if (has_sort()) used += percent;
    name_ = page.width() > used + 2 + kLeastName ? page.width() - used - 2 : kLeastName;
  }

  void write() {
    choose();
    page_.line();
    page_.wrapped(page_.bold("Where time goes, "), 17, fmt::format("{}; by {}", title(), phrase_of(sort_)));
    heading();
    // A stack of its own: the tree may be deep.
    std::vector<Waiting> waiting;
    const auto add = [&](const std::vector<uint32_t>& rows, size_t hidden) {
      for (auto at = rows.rbegin(); at != rows.rend(); ++at) waiting.push_back({*at, hidden});
    };
    add(roots(), 0);
    while (!waiting.empty()) {
      auto [number, hidden] = waiting.back();
      waiting.pop_back();
      row(number, hidden);
      if (const std::vector<uint32_t> inside = chain_from(number); inside.size() > kShortestChain) {
        chain(inside, hidden);
        hidden += inside.size() - 1;
        number = inside.back();
      }
      if (unfolded_.contains(number)) add(below_of(number), hidden);
    }
    legend();
  }

 private:
  struct Waiting {
    uint32_t number;
    size_t hidden;  // rows above it that are not shown
  };

  // How a library gets from its function to what that calls tells nobody else much.
  bool passes_on(uint32_t number) {
    const ReportContext& context = rows_.context(number);
    if (options_.depth || options_.view != TreeView::top_down || !unfolded_.contains(number) ||
        left_out_.contains(number) || context.kind != ReportContext::Kind::frame ||
        context.owner == FrameOwner::application)
      return false;
    const std::vector<uint32_t> below = below_of(number);
    return below.size() == 1 && rows_.amount(below.front(), sort_) >= kPassedOn * rows_.amount(number, sort_);
  }
  // The rows below a library's function that only pass on to one other.
  std::vector<uint32_t> chain_from(uint32_t number) {
    std::vector<uint32_t> chain;
    if (!passes_on(number)) return chain;
    for (uint32_t at = below_of(number).front(); passes_on(at); at = below_of(at).front())
      chain.push_back(at);
    return chain;
  }
  void chain(const std::vector<uint32_t>& rows, size_t hidden) {
    std::string text = hot_.contains(rows.front()) ? "> " : "  ";
    for (const TreeColumn column : columns_) {
      text += std::string(tree_column_width(column), ' ');
      if (column == sort_) text += std::string(kPercentWidth, ' ');
    }
    page_.line(text + "  " + lead(rows_.row(rows.front()).depth - hidden) +
               page_.faint(fmt::format("... {} of the library", counted(rows.size(), "call"))));
  }

  bool has_sort() const { return std::find(columns_.begin(), columns_.end(), sort_) != columns_.end(); }

  std::vector<uint32_t> limited(std::vector<uint32_t> numbers) {
    numbers = rows_.sorted(std::move(numbers), sort_);
    if (numbers.size() > options_.top) numbers.resize(options_.top);
    return numbers;
  }
  std::vector<uint32_t> roots() { return limited(rows_.roots()); }
  std::vector<uint32_t> below_of(uint32_t number) {
    std::vector<uint32_t> below = limited(rows_.children(number));
    if (left_out_.contains(number))
      std::erase_if(below, [&](uint32_t child) { return !hot_.contains(child); });
    if (!options_.depth)
      std::erase_if(below, [&](uint32_t child) { return !is_large(child) && !hot_.contains(child); });
    return below;
  }
  bool is_large(uint32_t number) const { return rows_.amount(number, sort_) > kLeastShare * largest_; }

  // Which rows are unfolded.
  void choose() {
    const std::vector<uint32_t> first = roots();
    if (first.empty()) return;
    largest_ = rows_.amount(first.front(), sort_);
    const std::vector<uint32_t> path = rows_.hot_path(first.front(), sort_);
    if (path.size() > 1) hot_.insert(path.begin(), path.end());
    if (!options_.depth && path.size() > kPathBegin + kPathEnd + 1)
      left_out_.insert(path.begin() + kPathBegin, path.end() - kPathEnd);
    if (options_.depth) {
      std::vector<uint32_t> waiting = first;
      while (!waiting.empty()) {
        const uint32_t number = waiting.back();
        waiting.pop_back();
        if (rows_.row(number).depth + 1 >= *options_.depth) continue;
        unfolded_.insert(number);
        for (const uint32_t child : below_of(number)) waiting.push_back(child);
      }
      return;
    }
    size_t lines = first.size();
    const auto smaller = [&](uint32_t a, uint32_t b) {
      const bool hot_a = hot_.contains(a), hot_b = hot_.contains(b);
      if (hot_a != hot_b) return hot_b;
      const double amount_a = rows_.amount(a, sort_), amount_b = rows_.amount(b, sort_);
      return amount_a != amount_b ? amount_a < amount_b : a > b;
    };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(smaller)> open(smaller, first);
    while (!open.empty()) {
      const uint32_t number = open.top();
      open.pop();
      const std::vector<uint32_t> below = below_of(number);
      if (below.empty() || (lines + below.size() > kTreeLines && !hot_.contains(number))) continue;
      if (!left_out_.contains(number)) lines += below.size();
      unfolded_.insert(number);
      for (const uint32_t child : below) open.push(child);
    }
  }

  std::string title() const {
    switch (options_.view) {
      case TreeView::top_down:
        return "top-down: each function with all that it calls";
      case TreeView::bottom_up:
        return "bottom-up: what takes the time itself, and below it its callers";
      case TreeView::flat:
        return "flat: each function once, with all that it calls";
    }
    return "";
  }

  void heading() {
    std::string text = "  ";
    for (const TreeColumn column : columns_) {
      text += fmt::format("{:>{}}", heading_of(column).text, tree_column_width(column));
      if (column != sort_) continue;
      const bool flat = options_.view == TreeView::flat;
      text += fmt::format("{:>{}}", flat ? "itself" : "", flat ? kItselfWidth : kPercentWidth);
    }
    page_.line(page_.faint(text + "  what"));
  }

  std::string lead(size_t depth) const {
    const size_t deepest = name_ / 2;
    if (2 * depth > deepest) return fmt::format("{:>{}} ", fmt::format("({})", depth), deepest - 1);
    return std::string(2 * depth, ' ');
  }

  void row(uint32_t number, size_t hidden) {
    if (left_out_.contains(number)) {
      if (!left_out_said_)
        page_.line(fmt::format(">   ... {} of the hot path ...", counted(left_out_.size(), "row")));
      left_out_said_ = true;
      return;
    }
    const bool hot = hot_.contains(number);
    std::string text = hot ? "> " : "  ";
    for (const TreeColumn column : columns_) {
      text += fmt::format("{:>{}}", tree_cell(rows_, number, column), tree_column_width(column));
      if (column == sort_) text += of_the_whole(number);
    }
    text += "  ";
    std::string before = lead(rows_.row(number).depth - hidden);
    const bool folded = rows_.row(number).has_children && !unfolded_.contains(number);
    folded_ |= folded;
    if (folded) before += "+ ";
    const std::string name = tree_name(rows_, number, name_ - before.size());
    size_t used = before.size() + name.size();
    std::string behind;
    const auto add = [&](const std::string& more) {
      if (more.empty() || used + more.size() + 2 > name_) return;
      behind += "  " + more;
      used += more.size() + 2;
    };
    add(tree_place(rows_, number));
    if (options_.view == TreeView::top_down) add(main_reason(rows_.tree().profile(), rows_.context(number)));
    page_.line(text + before + (hot ? page_.bold(name) : name) + page_.faint(behind));
  }

  // "  62.5%"; flat, where shares add up to nothing, the function's own part.
  std::string of_the_whole(uint32_t number) const {
    if (options_.view == TreeView::flat) {
      const double seconds = own_amount(rows_.row(number).own);
      return fmt::format("{:>{}}", seconds > 0 ? seconds_text(seconds) : "-", kItselfWidth);
    }
    return share_text(rows_, number, sort_, kPercentWidth);
  }

  double own_amount(const ContextTimes& own) const {
    switch (sort_) {
      case TreeColumn::time:
        return own.threads_s();
      case TreeColumn::cpu:
        return own.cpu_s;
      case TreeColumn::driver:
        return own.driver_s;
      case TreeColumn::waited:
        return own.waited_s;
      case TreeColumn::idle:
        return own.idle_s;
      case TreeColumn::gpu:
        return own.gpu_s;
      case TreeColumn::recoverable:
        return own.recoverable_s;
      default:
        return 0;
    }
  }

  void legend() {
    if (!hot_.empty())
      page_.wrapped(
          "", 0,
          "> marks the hot path: from the largest row down, while a row has at least half of the one above it.");
    if (folded_)
      page_.wrapped("", 0,
                    "+ marks rows that have more below them: use --depth N, --top N, or diogenes explore.");
    if (const size_t all = rows_.roots().size(); all > options_.top)
      page_.line(counted(all - options_.top, "more row") + fmt::format(": --top {}", all));
  }

  Page& page_;
  const TreeTextOptions& options_;
  ContextRows rows_;
  TreeColumn sort_;
  std::vector<TreeColumn> columns_;
  size_t name_;
  double largest_ = 0;
  bool folded_ = false;
  std::set<uint32_t> hot_, unfolded_;
  std::set<uint32_t> left_out_;  // the middle of a long hot path
  bool left_out_said_ = false;
};

}  // namespace

void tree_text(Page& page, const ReportProfile& profile, const TreeTextOptions& options) {
  const ContextTree tree(profile);
  if (tree.size() == 0) {
    page.line();
    return page.line("No calling contexts were recorded.");
  }
  TreeWriter(page, tree, options).write();
}

TreeColumn usual_column(const ContextTree& tree) {
  return tree.size() > 0 && tree.inclusive(0).gpu_s > 0 ? TreeColumn::gpu : TreeColumn::time;
}

size_t tree_column_width(TreeColumn column) {
  return column == TreeColumn::importance ? 11 : heading_of(column).width;
}

std::vector<TreeColumn> fitting_columns(size_t width, size_t name) {
  std::vector<TreeColumn> columns;
  for (const TreeColumn column :
       {TreeColumn::gpu, TreeColumn::waited, TreeColumn::cpu, TreeColumn::recoverable, TreeColumn::gain,
        TreeColumn::count, TreeColumn::driver, TreeColumn::importance}) {
    size_t used = tree_column_width(column);
    for (const TreeColumn taken : columns) used += tree_column_width(taken);
    if (used + name > width) break;
    columns.push_back(column);
  }
  std::sort(columns.begin(), columns.end());
  return columns;
}

std::string tree_cell(const ContextRows& rows, uint32_t number, TreeColumn column) {
  const double amount = rows.amount(number, column);
  const ContextRow& row = rows.row(number);
  if (column == TreeColumn::gain) {
    // Sums over other work than one kernel's say nothing.
    uint32_t top = number;
    while (rows.view() == TreeView::bottom_up && rows.row(top).parent) top = *rows.row(top).parent;
    const bool work = rows.context(top).kind == ReportContext::Kind::gpu;
    if (!work || !row.own.gain_is_known) return "-";
    return is_hidden(amount, row.inclusive.gpu_s) ? "hidden" : seconds_text(amount);
  }
  if (amount <= 0) return "-";
  if (column == TreeColumn::count) return count_text(static_cast<uint64_t>(amount));
  if (column != TreeColumn::importance) return seconds_text(amount);
  const ContextTimes& times = rows.view() == TreeView::bottom_up ? row.own : row.inclusive;
  const double cpu = rows.tree().cpu_importance(times), gpu = rows.tree().gpu_importance(times);
  return (gpu > cpu ? "GPU " : "CPU ") + percent_text(100 * std::max(cpu, gpu));
}

std::string tree_name(const ContextRows& rows, uint32_t number, size_t room) {
  return shortened_name(plain_name(rows.context(number)), std::max<size_t>(room, 8));
}

std::string share_text(const ContextRows& rows, uint32_t number, TreeColumn column, size_t width) {
  const ContextTree& tree = rows.tree();
  double whole = 0;
  const ContextTimes& all = tree.inclusive(0);
  switch (column) {
    case TreeColumn::time:
      whole = all.threads_s();
      break;
    case TreeColumn::cpu:
      whole = all.cpu_s;
      break;
    case TreeColumn::driver:
      whole = all.driver_s;
      break;
    case TreeColumn::waited:
      whole = all.waited_s;
      break;
    case TreeColumn::idle:
      whole = all.idle_s;
      break;
    case TreeColumn::gpu:
      whole = all.gpu_s;
      break;
    case TreeColumn::recoverable:
      whole = all.recoverable_s;
      break;
    default:  // the others do not add up
      break;
  }
  const double share = whole > 0 ? 100 * rows.amount(number, column) / whole : 0;
  return fmt::format("{:>{}}", share > 0 ? percent_text(share) : "", width);
}

namespace {

std::string times_text(const ContextTimes& times) {
  std::string text;
  const auto add = [&](const char* what, double seconds) {
    if (seconds > 0) text += (text.empty() ? "" : ", ") + (what + (" " + seconds_text(seconds)));
  };
  add("CPU", times.cpu_s);
  add("driver", times.driver_s);
  add("waited", times.waited_s);
  add("GPU", times.gpu_s);
  add("GPU idle meanwhile", times.idle_s);
  return text.empty() ? "no time" : text;
}

// "kernels 62.5%, copies to the GPU 25.0%": formula 3.
std::string kinds_text(const ContextTree& tree, const ContextTimes& times) {
  static constexpr const char* kNames[kGpuWorkKinds] = {
      "kernels", "copies to the GPU", "copies to the CPU", "copies on the GPU", "fills", "other work"};
  std::string text;
  for (size_t i = 0; i < kGpuWorkKinds; ++i) {
    const double part = tree.gpu_importance(times, static_cast<ReportGpuWork::Kind>(i));
    if (part > 0) text += (text.empty() ? "" : ", ") + (kNames[i] + (" " + percent_text(100 * part)));
  }
  return text;
}

// "from 1.20 s to 1.40 s in a process"; "": the same.
std::string spread_text(double least_s, double most_s) {
  const std::string least = seconds_text(least_s), most = seconds_text(most_s);
  return least == most ? "" : fmt::format("from {} to {}", least, most);
}

}  // namespace

void context_details(Page& page, const ContextRows& rows, uint32_t number, const std::string& folder) {
  const ContextTree& tree = rows.tree();
  const ContextRow& row = rows.row(number);
  const ReportContext& context = rows.context(number);
  const auto labelled = [&](const char* label, const std::string& text) {
    if (!text.empty()) page.labelled(4, label, text);
  };
  page.line();
  page.line(page.bold(tree_name(rows, number, page.width())));
  if (!context.file.empty()) {
    const std::string line = context.line > 0 ? fmt::format(":{}", context.line) : "";
    labelled("at", short_path(context.file, folder) + line);
  } else {
    labelled("at", tree_place(rows, number));
  }
  labelled("in", file_name(context.module));
  if (const std::string reason = main_reason(tree.profile(), context); !reason.empty())
    labelled("why", "it mostly " + reason);
  if (rows.view() == TreeView::bottom_up && row.parent) {
    labelled("part", times_text(row.own) + " of the row above, when it is called in this way");
  } else {
    if (row.has_children || rows.view() != TreeView::top_down) labelled("in all", times_text(row.inclusive));
    labelled("itself", times_text(row.own));
  }
  if (row.inclusive.recoverable_s > 0)
    labelled("saves",
             seconds_text(row.inclusive.recoverable_s) + " by fixing the findings at its calls, each alone");
  if (row.own.gain_is_known)
    labelled("gains", fmt::format("{} if its GPU work takes half as long, {} at most",
                                  seconds_text(row.own.half_gain_s), seconds_text(row.own.none_gain_s)));
  const double cpu = tree.cpu_importance(row.inclusive), gpu = tree.gpu_importance(row.inclusive);
  labelled("weight", fmt::format("{} of all threads' time, beyond its GPU time; {} of all GPU time",
                                 percent_text(100 * cpu), percent_text(100 * gpu)));
  labelled("GPU", gpu > 0 ? kinds_text(tree, row.inclusive) : "");
  std::string often = row.inclusive.calls > 0 ? counted(row.inclusive.calls, "call") + " of the driver" : "";
  if (row.inclusive.pieces > 0)
    often += (often.empty() ? "" : ", ") + counted(row.inclusive.pieces, "piece") + " of GPU work";
  labelled("often", often);
  if (rows.view() != TreeView::top_down) return;
  if (context.threads > 1) labelled("threads", count_text(context.threads));
  std::string spread = spread_text(context.cpu_least_s, context.cpu_most_s);
  if (!spread.empty()) spread = "threads' time " + spread;
  if (const std::string of_gpu = spread_text(context.gpu_least_s, context.gpu_most_s); !of_gpu.empty())
    spread += (spread.empty() ? "GPU " : ", GPU ") + of_gpu;
  labelled("ranks", spread);
}

std::string tree_place(const ContextRows& rows, uint32_t number) {
  const ContextRow& row = rows.row(number);
  const ReportContext& context = rows.context(number);
  if (context.kind == ReportContext::Kind::frame && !context.file.empty()) return function_place(context);
  if (is_inside_kernel(context.kind)) {
    // Loops and lines have their place for a name.
    const std::string place =
        context.kind == ReportContext::Kind::gpu_function ? function_place(context) : "";
    if (!context.estimated) return place;
    return place.empty() ? "estimated" : place + ", estimated";
  }
  if (context.kind != ReportContext::Kind::call || row.called_line <= 0) return "";
  const ReportContext& caller = rows.tree().context(rows.tree().parent(row.context));
  return caller.file.empty() ? "" : fmt::format("{}:{}", file_name(caller.file), row.called_line);
}

}  // namespace diogenes
