#include "analysis/kernel_samples/kernel_tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "analysis/kernel_samples/call_shares.h"
#include "analysis/symbols/dwarf_frames.h"
#include "base/largest_nodes.h"
#include "base/short_function.h"

namespace diogenes {
namespace {

using NodeKind = ReportKernelNode::Kind;

constexpr size_t kMostKernelCalls = 200'000;
constexpr size_t kMostKernelNodes = 300'000;
constexpr size_t kMostCopied = 50'000;  // nodes of functions that were placed before, below other calls
constexpr size_t kDeepestCalls = 48;    // functions above one
constexpr size_t kMostJoinedNames = 4;
constexpr double kNothingLeft = 1e-9;  // of a function's samples

NodeKind kind_of(FunctionTree::Kind kind) {
  switch (kind) {
    case FunctionTree::Kind::function:
      return NodeKind::function;
    case FunctionTree::Kind::inlined:
      return NodeKind::inlined;
    case FunctionTree::Kind::loop:
      return NodeKind::loop;
    case FunctionTree::Kind::line:
      break;
  }
  return NodeKind::line;
}

class TreeBuilder {
 public:
  TreeBuilder(const std::string& kernel, uint32_t issued) : issued_(issued) {
    KernelTree::Node& root = out_.nodes.emplace_back();
    root.function = name_of(kernel);
  }

  void add(const SampledKernel::Part& part) { PartOfTree(*this, part).add(); }
  void add_without_code(const SampleCounts& counts) { out_.nodes[0].own.add(counts); }

  KernelTree take() {
    for (KernelTree::Node& node : out_.nodes) node.all = node.own;
    for (size_t i = out_.nodes.size(); i-- > 1;) out_.nodes[out_.nodes[i].parent].all.add(out_.nodes[i].all);
    leave_out_empty();
    return std::move(out_);
  }

 private:
  const std::string& name_of(std::string_view mangled) {
    const auto [found, fresh] = names_.try_emplace(std::string(mangled), "");
    if (fresh) found->second = short_function(demangle(found->first.c_str()));
    return found->second;
  }

  // Nodes without samples, in them and below.
  void leave_out_empty() {
    std::vector<uint32_t> place(out_.nodes.size(), 0);
    size_t count = 1;
    for (size_t i = 1; i < out_.nodes.size(); ++i) {
      if (out_.nodes[i].all.all() <= 0) continue;
      place[i] = static_cast<uint32_t>(count);
      out_.nodes[i].parent = place[out_.nodes[i].parent];
      if (count != i) out_.nodes[count] = std::move(out_.nodes[i]);
      ++count;
    }
    out_.nodes.resize(count);
  }

  using Key =
      std::tuple<uint32_t, NodeKind, std::string_view, std::string_view, uint32_t, uint32_t, uint32_t>;

  uint32_t child(KernelTree::Node node) {
    const bool is_place = node.kind == NodeKind::line || node.kind == NodeKind::loop;
    const Key wanted{
        node.parent,    node.kind,       kept(node.function), kept(node.file), is_place ? node.line : 0,
        node.last_line, node.called_line};
    if (const auto found = numbers_.find(wanted); found != numbers_.end()) {
      KernelTree::Node& same = out_.nodes[found->second];
      same.estimated |= node.estimated;
      if (same.line == 0 || (node.line > 0 && node.line < same.line)) same.line = node.line;
      return found->second;
    }
    if (out_.nodes.size() >= kMostKernelNodes) return node.parent;
    const auto number = static_cast<uint32_t>(out_.nodes.size());
    out_.nodes.push_back(std::move(node));
    numbers_.emplace(wanted, number);
    return number;
  }
  std::string_view kept(const std::string& text) { return texts_.try_emplace(text, 0).first->first; }

  void note(const std::string& sentence) {
    if (std::find(out_.notes.begin(), out_.notes.end(), sentence) == out_.notes.end())
      out_.notes.push_back(sentence);
  }

  // One content of code.
  class PartOfTree {
   public:
    PartOfTree(TreeBuilder& tree, const SampledKernel::Part& part)
        : tree_(tree), cubin_(*part.cubin), part_(part) {
      if (!cubin_.has_control_flow()) tree_.note(cubin_.doubt().c_str());
    }

    void add() {
      number_of(part_.kernel);
      std::vector<std::span<const InstructionSample>> sampled;
      const std::span<const InstructionSample> all = part_.samples;
      for (size_t begin = 0; begin < all.size();) {
        size_t end = begin;
        while (end < all.size() && all[end].function == all[begin].function) ++end;
        const uint32_t number = number_of(all[begin].function);
        sampled.resize(std::max<size_t>(sampled.size(), number + 1));
        sampled[number] = all.subspan(begin, end - begin);
        begin = end;
      }
      // Functions that are called on the way to sampled ones, too.
      for (uint32_t i = 0; i < functions_.size(); ++i) {
        const auto samples = i < sampled.size() ? sampled[i] : all.first(0);
        trees_.push_back(make_function_tree(cubin_, functions_[i], samples, tree_.issued_, most_calls_));
        most_calls_ -= trees_.back().calls.size();
        if (!trees_.back().loops_known && cubin_.has_control_flow())
          tree_.note("some of its loops may be missing: it has jumps or cycles that are not understood");
        for (const FunctionTree::Call& call : trees_.back().calls) number_of(call.callee);
      }
      for (const FunctionTree& tree : trees_) {
        double sum = 0;
        for (const FunctionTree::Node& node : tree.nodes) sum += node.own.all();
        has_samples_.push_back(sum > 0);
      }
      find_shares();
      place_all();
    }

   private:
    uint32_t number_of(GpuFunctionIndex function) {
      const auto [found, fresh] =
          numbers_.try_emplace(function.value, static_cast<uint32_t>(functions_.size()));
      if (fresh) functions_.push_back(function);
      return found->second;
    }

    void find_shares() {
      std::vector<SampledCall> calls;
      for (uint32_t i = 0; i < trees_.size(); ++i) {
        first_call_.push_back(static_cast<uint32_t>(calls.size()));
        for (const FunctionTree::Call& call : trees_[i].calls)
          calls.push_back({i, number_of(call.callee), call.calls, call.issued});
      }
      shares_ = share_calls(static_cast<uint32_t>(functions_.size()), calls);
      placed_.assign(shares_.members.size(), 0);
      // A function that is not sampled, with all that it calls, is left out.
      useful_.assign(shares_.members.size(), false);
      for (uint32_t i = 0; i < functions_.size(); ++i)
        if (has_samples_[i]) useful_[shares_.component[i]] = true;
      // Components are numbered so that callees come before their callers.
      for (uint32_t c = 0; c < shares_.members.size(); ++c)
        for (const uint32_t member : shares_.members[c])
          for (const FunctionTree::Call& call : trees_[member].calls)
            if (useful_[shares_.component[number_of(call.callee)]]) useful_[c] = true;
    }

    struct Waiting {
      uint32_t component, parent, called_line;
      double factor;
      bool estimated;
      size_t depth;
    };

    void place_all() {
      const uint32_t kernel = shares_.component[0];
      wait_for({kernel, 0, 0, 1, false, 0});
      go_on();
      for (uint32_t c = 0; c < shares_.members.size(); ++c) {
        if (c == kernel || !shares_.on_top[c] || !useful_[c]) continue;
        if (shares_.apart[c])
          tree_.note(
              "too few samples tell how often each caller calls some of its functions: these are shown below the kernel, "
              "not below their callers");
        wait_for({c, 0, 0, 1, false, 0});
        go_on();
      }
      // What found no place before there were too many.
      for (uint32_t c = 0; c < shares_.members.size(); ++c) {
        const double left = 1 - placed_[c];
        if (left <= kNothingLeft || !useful_[c]) continue;
        tree_.note(
            "some of its functions are called in more ways than are shown; what is left of their samples is below the "
            "kernel");
        place({c, 0, 0, left, true, kDeepestCalls});
        waiting_.clear();
      }
    }

    // What has the most samples comes first: where there is no room for all, it is shown.
    static bool comes_later(const Waiting& one, const Waiting& other) { return one.factor < other.factor; }
    void wait_for(const Waiting& one) {
      waiting_.push_back(one);
      std::push_heap(waiting_.begin(), waiting_.end(), comes_later);
    }

    void go_on() {
      while (!waiting_.empty()) {
        std::pop_heap(waiting_.begin(), waiting_.end(), comes_later);
        const Waiting next = waiting_.back();
        waiting_.pop_back();
        if (placed_[next.component] > 0)
          for (const uint32_t member : shares_.members[next.component])
            copied_ += trees_[member].nodes.size() + trees_[member].calls.size();
        if (copied_ <= kMostCopied) place(next);
      }
    }

    void place(const Waiting& one) {
      const std::vector<uint32_t>& members = shares_.members[one.component];
      placed_[one.component] += one.factor;
      uint32_t parent = one.parent, called_line = one.called_line;
      if (members.size() > 1) {
        std::string name;
        for (size_t i = 0; i < members.size() && i < kMostJoinedNames; ++i)
          name += (i > 0 ? ", " : "") + tree_.name_of(cubin_.function(functions_[members[i]]).name);
        if (members.size() > kMostJoinedNames) name += ", ...";
        parent = tree_.child({.parent = parent,
                              .kind = NodeKind::function,
                              .function = name + " (they call each other)",
                              .file = "",
                              .called_line = called_line,
                              .estimated = one.estimated});
        called_line = 0;
      }
      for (const uint32_t member : members) {
        const std::vector<uint32_t> at = copy(member, parent, called_line, one);
        if (one.depth >= kDeepestCalls) continue;
        const auto& calls = trees_[member].calls;
        for (uint32_t i = 0; i < calls.size(); ++i) {
          const uint32_t callee = shares_.component[number_of(calls[i].callee)];
          const double share = shares_.share[first_call_[member] + i];
          if (share <= 0 || !useful_[callee]) continue;
          wait_for({callee, at[calls[i].node], calls[i].line, one.factor * share, one.estimated || share < 1,
                    one.depth + 1});
        }
      }
    }

    // Out: where each of the function's nodes is.
    std::vector<uint32_t> copy(uint32_t member, uint32_t parent, uint32_t called_line, const Waiting& one) {
      const FunctionTree& from = trees_[member];
      std::vector<uint32_t> at;
      for (const FunctionTree::Node& node : from.nodes) {
        const bool first = at.empty();
        uint32_t number = parent;
        if (first && member == 0) {
          KernelTree::Node& root = tree_.out_.nodes[0];
          if (root.file.empty()) root.file = node.file, root.line = node.line;
          number = 0;
        } else {
          number = tree_.child({.parent = first ? parent : at[node.parent],
                                .kind = kind_of(node.kind),
                                .function = tree_.name_of(node.function),
                                .file = std::string(node.file),
                                .line = node.line,
                                .last_line = node.last_line,
                                .called_line = first ? called_line : node.called_line,
                                .estimated = one.estimated});
        }
        at.push_back(number);
        tree_.out_.nodes[number].own.add(node.own, one.factor);
      }
      return at;
    }

    TreeBuilder& tree_;
    const Cubin& cubin_;
    const SampledKernel::Part& part_;
    std::vector<GpuFunctionIndex> functions_;  // by number; the kernel first
    std::map<uint32_t, uint32_t> numbers_;
    std::vector<FunctionTree> trees_;
    std::vector<bool> has_samples_;
    CallShares shares_;
    std::vector<uint32_t> first_call_;
    std::vector<bool> useful_;    // by component
    std::vector<double> placed_;  // by component: how much of it is in the tree
    std::vector<Waiting> waiting_;
    size_t copied_ = 0, most_calls_ = kMostKernelCalls;
  };

  const uint32_t issued_;
  KernelTree out_;
  std::unordered_map<std::string, std::string> names_;
  std::map<std::string, int> texts_;  // stay where they are
  std::map<Key, uint32_t> numbers_;
};

}  // namespace

KernelTree make_kernel_tree(const std::string& kernel, const SampledKernel& sampled, uint32_t issued) {
  TreeBuilder builder(kernel, issued);
  for (const SampledKernel::Part& part : sampled.parts) builder.add(part);
  builder.add_without_code(sampled.without_code);
  return builder.take();
}

void keep_largest(KernelTree& tree, size_t most) {
  using Node = KernelTree::Node;
  if (tree.nodes.size() <= most) return;
  std::vector<double> samples;
  for (const Node& node : tree.nodes) samples.push_back(node.all.all());
  keep_largest_nodes(
      tree.nodes, samples, most, [](const Node& node) { return node.kind == NodeKind::rest; },
      [](Node& made) { made.kind = NodeKind::rest; },
      [](Node& rest, const Node& node) {
        rest.own.add(node.own);
        rest.all.add(node.own);
      });
}

}  // namespace diogenes
