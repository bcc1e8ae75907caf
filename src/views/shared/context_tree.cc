#include "views/shared/context_tree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/short_function.h"

namespace diogenes {
namespace {

using Kind = ReportContext::Kind;

constexpr TreeView kViews[] = {TreeView::top_down, TreeView::bottom_up, TreeView::flat};

const ReportGpuWork* work_of(const ReportProfile& profile, const ReportContext& context) {
  const bool known = context.work >= 0 && static_cast<size_t>(context.work) < profile.work.size();
  return known ? &profile.work[static_cast<size_t>(context.work)] : nullptr;
}

ContextTimes own_times(const ReportProfile& profile, const ReportContext& context) {
  ContextTimes times;
  times.cpu_s = context.cpu_s;
  times.driver_s = context.driver_s;
  times.waited_s = context.waited_s;
  times.gpu_s = context.gpu_s;
  times.idle_s = context.idle_s;
  times.recoverable_s = context.recoverable_s;
  times.half_gain_s = context.half_gain_s.value_or(0);
  times.none_gain_s = context.none_gain_s.value_or(0);
  times.gain_is_known = context.half_gain_s.has_value();
  if (context.kind == Kind::call) times.calls = context.count;
  if (context.kind == Kind::gpu) times.pieces = context.count;
  const ReportGpuWork* work = work_of(profile, context);
  const ReportGpuWork::Kind kind = work ? work->kind : ReportGpuWork::Kind::other;
  times.gpu_of_kind_s[static_cast<size_t>(kind)] = context.gpu_s;
  return times;
}

double fraction(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::string plain_name(const ReportContext& context) {
  const bool shortens = context.kind == Kind::frame && context.language != "python";
  const std::string name = shortens ? short_function(context.name) : context.name;
  if (!name.empty()) return name;
  return context.kind == Kind::root ? "the program" : "(no name)";
}

std::string function_place(const ReportContext& context) {
  const std::string file = context.file.substr(context.file.rfind('/') + 1);
  return file.empty() || context.line <= 0 ? file : file + ":" + std::to_string(context.line);
}

void ContextTimes::add(const ContextTimes& other) {
  cpu_s += other.cpu_s;
  driver_s += other.driver_s;
  waited_s += other.waited_s;
  gpu_s += other.gpu_s;
  idle_s += other.idle_s;
  recoverable_s += other.recoverable_s;
  half_gain_s += other.half_gain_s;
  none_gain_s += other.none_gain_s;
  gain_is_known |= other.gain_is_known;
  calls += other.calls;
  pieces += other.pieces;
  for (size_t i = 0; i < kGpuWorkKinds; ++i) gpu_of_kind_s[i] += other.gpu_of_kind_s[i];
}

const char* name_of(TreeView view) {
  switch (view) {
    case TreeView::top_down:
      return "top-down";
    case TreeView::bottom_up:
      return "bottom-up";
    case TreeView::flat:
      return "flat";
  }
  return "top-down";
}

const char* name_of(TreeColumn column) {
  static constexpr const char* kNames[] = {"time", "cpu",         "driver", "waited", "idle",
                                           "gpu",  "recoverable", "gain",   "count",  "importance"};
  return kNames[static_cast<size_t>(column)];
}

std::optional<TreeView> tree_view_named(const std::string& name) {
  for (const TreeView view : kViews)
    if (name == name_of(view)) return view;
  return std::nullopt;
}

std::vector<TreeColumn> all_tree_columns() {
  std::vector<TreeColumn> columns;
  for (size_t i = 0; i <= static_cast<size_t>(TreeColumn::importance); ++i)
    columns.push_back(static_cast<TreeColumn>(i));
  return columns;
}

std::optional<TreeColumn> tree_column_named(const std::string& name) {
  for (const TreeColumn column : all_tree_columns())
    if (name == name_of(column)) return column;
  return std::nullopt;
}

ContextTree::ContextTree(const ReportProfile& profile) : profile_(profile) {
  const size_t count = profile.contexts.size();
  parent_.resize(count);
  size_.assign(count, 1);
  own_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    parent_[i] = profile.contexts[i].parent < i ? profile.contexts[i].parent : 0;
    own_.push_back(own_times(profile, profile.contexts[i]));
  }
  inclusive_ = own_;
  of_function_ = own_;
  for (size_t i = count; i-- > 1;) {  // children come after their parents
    inclusive_[parent_[i]].add(inclusive_[i]);
    size_[parent_[i]] += size_[i];
    if (is_function(static_cast<uint32_t>(i))) continue;
    of_function_[parent_[i]].add(of_function_[i]);
    of_function_[i] = {};
  }
  place_.assign(count, 0);
  at_place_.assign(count, 0);
  std::vector<uint32_t> next(count, 1);  // the place of a context's next child
  for (size_t i = 1; i < count; ++i) {
    place_[i] = next[parent_[i]];
    next[parent_[i]] += size_[i];
    next[i] = place_[i] + 1;
    at_place_[place_[i]] = static_cast<uint32_t>(i);
  }
  if (count == 0) return;
  threads_s_ = profile.threads_s > 0 ? profile.threads_s : inclusive_[0].threads_s();
  gpu_s_ = profile.gpu_s > 0 ? profile.gpu_s : inclusive_[0].gpu_s;
}

bool ContextTree::is_function(uint32_t at) const {
  return context(at).kind != Kind::gpu_loop && context(at).kind != Kind::gpu_line;
}

uint32_t ContextTree::caller(uint32_t at) const {
  uint32_t found = parent_[at];
  while (found != 0 && !is_function(found)) found = parent_[found];
  return found;
}

double ContextTree::cpu_importance(const ContextTimes& inclusive) const {
  return fraction(std::max(inclusive.threads_s() - inclusive.gpu_s, 0.0), threads_s_);
}

double ContextTree::gpu_importance(const ContextTimes& inclusive) const {
  return fraction(inclusive.gpu_s, gpu_s_);
}

double ContextTree::gpu_importance(const ContextTimes& inclusive, ReportGpuWork::Kind kind) const {
  return fraction(inclusive.gpu_of_kind_s[static_cast<size_t>(kind)], gpu_s_);
}

double ContextTree::gpu_importance(uint32_t at, int32_t work) const {
  double seconds = 0;
  for (uint32_t place = place_[at]; place < end(at); ++place) {
    const ReportContext& context = profile_.contexts[at_place_[place]];
    if (context.work == work) seconds += context.gpu_s;
  }
  return fraction(seconds, gpu_s_);
}

ContextRows::ContextRows(const ContextTree& tree, TreeView view) : tree_(tree), view_(view) {
  if (tree_.size() == 0) return;
  if (view_ == TreeView::top_down)
    make_top_down();
  else
    make_functions();
}

void ContextRows::make_top_down() {
  for (uint32_t i = 0; i < tree_.size(); ++i) {
    Entry entry;
    entry.open = true;
    entry.row.context = i;
    entry.row.inclusive = tree_.inclusive(i);
    entry.row.own = tree_.own(i);
    entry.row.called_line = tree_.context(i).called_line;
    if (i > 0) {
      Entry& parent = rows_[tree_.parent(i)];
      parent.children.push_back(i);
      parent.row.has_children = true;
      entry.row.parent = tree_.parent(i);
      entry.row.depth = parent.row.depth + 1;
    }
    rows_.push_back(std::move(entry));
  }
  roots_ = {0};
}

void ContextRows::make_functions() {
  using Identity = std::tuple<Kind, int32_t, const std::string*, const std::string*, const std::string*>;
  const auto less = [](const Identity& a, const Identity& b) {
    const auto key = [](const Identity& one) {
      return std::tie(std::get<0>(one), std::get<1>(one), *std::get<2>(one), *std::get<3>(one),
                      *std::get<4>(one));
    };
    return key(a) < key(b);
  };
  static const std::string kAny;
  std::map<Identity, uint32_t, decltype(less)> numbers(less);
  function_.resize(tree_.size());
  std::vector<Instance> all(tree_.size());
  for (uint32_t i = 0; i < tree_.size(); ++i) {
    const ReportContext& context = tree_.context(i);
    const bool frame = context.kind == Kind::frame || context.kind == Kind::gpu_function;
    const bool work = context.kind == Kind::gpu && work_of(tree_.profile(), context);
    const Identity identity(context.kind, work ? context.work : -1, work ? &kAny : &context.name,
                            frame ? &context.file : &kAny, frame ? &context.module : &kAny);
    function_[i] = numbers.try_emplace(identity, static_cast<uint32_t>(numbers.size())).first->second;
    all[tree_.place(i)] = {i, i};
  }
  // The root is no function, and loops and lines are part of theirs.
  std::erase_if(all,
                [&](const Instance& one) { return one.function == 0 || !tree_.is_function(one.function); });
  for (std::vector<Instance>& group : grouped(all)) roots_.push_back(add_row(std::move(group), std::nullopt));
}

std::vector<std::vector<ContextRows::Instance>> ContextRows::grouped(
    const std::vector<Instance>& instances) const {
  std::unordered_map<uint32_t, size_t> positions;  // by function
  std::vector<std::vector<Instance>> groups;
  for (const Instance& instance : instances) {
    const auto [found, added] = positions.try_emplace(function_[instance.caller], groups.size());
    if (added) groups.emplace_back();
    groups[found->second].push_back(instance);
  }
  return groups;
}

uint32_t ContextRows::add_row(std::vector<Instance> instances, std::optional<uint32_t> parent) {
  Entry entry;
  ContextRow& row = entry.row;
  row.context = instances.front().caller;
  row.parent = parent;
  row.depth = parent ? rows_[*parent].row.depth + 1 : 0;
  row.called_line = tree_.context(row.context).called_line;
  uint32_t counted_to = 0;  // places below it are in an outer call that was counted
  for (const Instance& instance : instances) {
    row.own.add(tree_.own_of_function(instance.function));
    if (tree_.place(instance.function) >= counted_to) {
      row.inclusive.add(tree_.inclusive(instance.function));
      counted_to = tree_.end(instance.function);
    }
    if (tree_.context(instance.caller).called_line != row.called_line) row.called_line = 0;
    row.has_children |= view_ == TreeView::bottom_up && tree_.caller(instance.caller) != 0;
  }
  // All of a kernel: the replay knows better than the sum over its places.
  const ReportGpuWork* work = parent ? nullptr : work_of(tree_.profile(), tree_.context(row.context));
  if (work && work->what_if) {
    for (ContextTimes* times : {&row.own, &row.inclusive}) {
      times->half_gain_s = work->what_if->half.seconds;
      times->none_gain_s = work->what_if->none.seconds;
      times->gain_is_known = true;
    }
  }
  if (row.has_children) entry.instances = std::move(instances);
  entry.open = !row.has_children;
  rows_.push_back(std::move(entry));
  return static_cast<uint32_t>(rows_.size() - 1);
}

const std::vector<uint32_t>& ContextRows::children(uint32_t number) {
  Entry& entry = rows_[number];
  if (entry.open) return entry.children;
  std::vector<Instance> called;
  for (const Instance& instance : entry.instances)
    if (const uint32_t caller = tree_.caller(instance.caller); caller != 0)
      called.push_back({instance.function, caller});
  for (std::vector<Instance>& group : grouped(called))
    entry.children.push_back(add_row(std::move(group), number));
  entry.instances = {};
  entry.open = true;
  return entry.children;
}

double ContextRows::amount(uint32_t number, TreeColumn column) const {
  const ContextRow& one = row(number);
  const ContextTimes& times = view_ == TreeView::bottom_up ? one.own : one.inclusive;
  switch (column) {
    case TreeColumn::time:
      return times.threads_s();
    case TreeColumn::cpu:
      return times.cpu_s;
    case TreeColumn::driver:
      return times.driver_s;
    case TreeColumn::waited:
      return times.waited_s;
    case TreeColumn::idle:
      return times.idle_s;
    case TreeColumn::gpu:
      return times.gpu_s;
    case TreeColumn::recoverable:
      return times.recoverable_s;
    case TreeColumn::gain:
      return times.half_gain_s;
    case TreeColumn::count: {
      const bool work = times.calls == 0;  // only GPU work has none
      return static_cast<double>(work ? times.pieces : times.calls);
    }
    case TreeColumn::importance:
      return std::max(tree_.cpu_importance(times), tree_.gpu_importance(times));
  }
  return 0;
}

std::vector<uint32_t> ContextRows::sorted(std::vector<uint32_t> numbers, TreeColumn column) const {
  struct Amounts {
    double first, second;
    uint32_t number;
  };
  std::vector<Amounts> rows;
  const auto ordered = [&](uint32_t number, TreeColumn by) {
    const double value = amount(number, by);
    return std::isfinite(value) ? value : 0;
  };
  for (const uint32_t number : numbers)
    rows.push_back({ordered(number, column), ordered(number, TreeColumn::time), number});
  std::stable_sort(rows.begin(), rows.end(), [](const Amounts& a, const Amounts& b) {
    return a.first != b.first ? a.first > b.first : a.second > b.second;
  });
  for (size_t i = 0; i < rows.size(); ++i) numbers[i] = rows[i].number;
  return numbers;
}

std::vector<uint32_t> ContextRows::hot_path(uint32_t from, TreeColumn column) {
  std::vector<uint32_t> path = {from};
  for (;;) {
    const double half = amount(path.back(), column) / 2;
    std::optional<uint32_t> hottest;
    for (const uint32_t child : children(path.back())) {
      const double value = amount(child, column);
      if (value > 0 && value >= half && (!hottest || value > amount(*hottest, column))) hottest = child;
    }
    if (!hottest) return path;
    path.push_back(*hottest);
  }
}

}  // namespace diogenes
