// Calling contexts that span CPU and GPU, as all views show them: inclusive times, importance, and three views of one
// tree: top-down, bottom-up and flat. In: ReportProfile. Source: Zhou, Krentel, Mellor-Crummey (ICS'20), section 5.1.
// A report may have 20,000 contexts, 256 deep: nothing here calls itself, and callers are worked out when they are asked for.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

inline constexpr size_t kGpuWorkKinds = static_cast<size_t>(ReportGpuWork::Kind::other) + 1;

struct ContextTimes {
  double cpu_s = 0, driver_s = 0, waited_s = 0, gpu_s = 0, idle_s = 0, recoverable_s = 0;
  // Of GPU work, summed. All of it together may gain more or less.
  double half_gain_s = 0, none_gain_s = 0;
  bool gain_is_known = false;
  uint64_t calls = 0, pieces = 0;                        // of the driver; of GPU work
  std::array<double, kGpuWorkKinds> gpu_of_kind_s = {};  // by ReportGpuWork::Kind

  double threads_s() const { return cpu_s + driver_s + waited_s; }  // C_i, where the times are inclusive
  void add(const ContextTimes& other);
};

enum class TreeView : uint8_t { top_down, bottom_up, flat };
// time: cpu, driver and waited together. idle: of it, while the GPU had nothing to do. importance: the larger one of CPU and GPU.
enum class TreeColumn : uint8_t {
  time,
  cpu,
  driver,
  waited,
  idle,
  gpu,
  recoverable,
  gain,
  count,
  importance
};

const char* name_of(TreeView view);      // "top-down"
const char* name_of(TreeColumn column);  // "cpu"
std::optional<TreeView> tree_view_named(const std::string& name);
std::optional<TreeColumn> tree_column_named(const std::string& name);
std::vector<TreeColumn> all_tree_columns();

// "als::iterate", without parameters; never empty.
std::string plain_name(const ReportContext& context);
// Of a function: "als.cc:180"; "": not known.
std::string function_place(const ReportContext& context);

// The tree itself. `profile` must outlive it.
class ContextTree {
 public:
  explicit ContextTree(const ReportProfile& profile);

  const ReportProfile& profile() const { return profile_; }
  size_t size() const { return own_.size(); }
  const ReportContext& context(uint32_t at) const { return profile_.contexts[at]; }
  uint32_t parent(uint32_t at) const { return parent_[at]; }  // the root's: itself
  const ContextTimes& own(uint32_t at) const { return own_[at]; }
  // Views of functions count loops and lines inside kernels to the function, or kernel, that they lie in.
  bool is_function(uint32_t at) const;
  const ContextTimes& own_of_function(uint32_t at) const { return of_function_[at]; }
  uint32_t caller(uint32_t at) const;  // the function around it
  const ContextTimes& inclusive(uint32_t at) const { return inclusive_[at]; }
  // In a walk from the top, a context is number place(at), and end(at) is behind the last one below it.
  uint32_t place(uint32_t at) const { return place_[at]; }
  uint32_t end(uint32_t at) const { return place_[at] + size_[at]; }

  // Formulas 1 to 3, as fractions of 1; of inclusive times. 0 where the whole is 0.
  double cpu_importance(const ContextTimes& inclusive) const;
  double gpu_importance(const ContextTimes& inclusive) const;
  double gpu_importance(const ContextTimes& inclusive, ReportGpuWork::Kind kind) const;
  // Formula 3 with one kernel or kind of copy, by its position in ReportProfile::work, in one context.
  double gpu_importance(uint32_t at, int32_t work) const;

 private:
  const ReportProfile& profile_;
  std::vector<uint32_t> parent_, size_, place_, at_place_;
  std::vector<ContextTimes> own_, of_function_, inclusive_;
  double threads_s_ = 0, gpu_s_ = 0;  // C_P and G_P
};

// A row of a view: one context, or several of the same function, call or kernel.
struct ContextRow {
  uint32_t context = 0;  // the first of those that it stands for: has the name
  std::optional<uint32_t> parent;
  uint32_t depth = 0;
  ContextTimes inclusive;  // what lies below a recursive function's outermost call counts once
  ContextTimes own;        // of bottom-up callers: that of the function at the root, called in this way
  int called_line = 0;     // as in ReportContext; 0: several, too
  bool has_children = false;
};

// Rows of one view. A row keeps its number, and its address, for as long as the view lives.
class ContextRows {
 public:
  ContextRows(const ContextTree& tree, TreeView view);

  TreeView view() const { return view_; }
  const ContextTree& tree() const { return tree_; }
  const ContextRow& row(uint32_t number) const { return rows_[number].row; }
  const ReportContext& context(uint32_t number) const { return tree_.context(row(number).context); }
  const std::vector<uint32_t>& roots() const { return roots_; }
  // Callers are worked out by the first call. Flat: none.
  const std::vector<uint32_t>& children(uint32_t number);

  // What the view shows in a column: inclusive figures, bottom-up the function's own. Seconds, a count, or a fraction.
  double amount(uint32_t number, TreeColumn column) const;
  // The largest first; rows that are equal there by time, then as they come.
  std::vector<uint32_t> sorted(std::vector<uint32_t> numbers, TreeColumn column) const;
  // From `from` down, for as long as one child has at least half of its parent's amount. `from` is its first.
  std::vector<uint32_t> hot_path(uint32_t from, TreeColumn column);

 private:
  struct Instance {
    uint32_t function, caller;  // contexts: the function at the root; how far up from it this row is
  };
  struct Entry {
    ContextRow row;
    bool open = false;  // its children are known
    std::vector<uint32_t> children;
    std::vector<Instance> instances;  // in the order of the tree; empty once it is open
  };

  void make_top_down();
  void make_functions();
  std::vector<std::vector<Instance>> grouped(const std::vector<Instance>& instances) const;
  uint32_t add_row(std::vector<Instance> instances, std::optional<uint32_t> parent);

  const ContextTree& tree_;
  TreeView view_;
  std::deque<Entry> rows_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> function_;  // of each context, by number: the same function, call or kernel
};

}  // namespace diogenes
