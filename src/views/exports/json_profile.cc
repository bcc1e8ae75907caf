// Key `profile` of the JSON report: GPU work, and calling contexts. Of a context, of which there may be 20,000, keys
// are left out where the figure is 0 or nothing is known.
#include "views/exports/exports.h"
#include "views/exports/json_parts.h"
#include "views/shared/context_tree.h"

namespace diogenes {
namespace {

const char* kind_name_of(ReportGpuWork::Kind kind) {
  switch (kind) {
    case ReportGpuWork::Kind::kernel:
      return "kernel";
    case ReportGpuWork::Kind::to_device:
      return "copy-to-device";
    case ReportGpuWork::Kind::to_host:
      return "copy-to-host";
    case ReportGpuWork::Kind::on_device:
      return "copy-on-device";
    case ReportGpuWork::Kind::fill:
      return "fill";
    case ReportGpuWork::Kind::other:
      return "other";
  }
  return "other";
}

const char* kind_name_of(ReportContext::Kind kind) {
  switch (kind) {
    case ReportContext::Kind::root:
      return "program";
    case ReportContext::Kind::frame:
      return "function";
    case ReportContext::Kind::call:
      return "call";
    case ReportContext::Kind::gpu:
      return "gpu-work";
    case ReportContext::Kind::gpu_function:
      return "gpu-function";
    case ReportContext::Kind::gpu_loop:
      return "gpu-loop";
    case ReportContext::Kind::gpu_line:
      return "gpu-line";
    case ReportContext::Kind::rest:
      return "rest";
  }
  return "rest";
}

Json gain_json(const ReportGain& gain) {
  return {{"seconds", finite(gain.seconds)}, {"range_s", {finite(gain.low_s), finite(gain.high_s)}}};
}

Json gain_json(const std::optional<ReportGain>& gain) { return gain ? gain_json(*gain) : Json(nullptr); }

Json what_if_json(const std::optional<ReportWhatIf>& what_if) {
  if (!what_if) return nullptr;
  return {{"half", gain_json(what_if->half)},
          {"none", gain_json(what_if->none)},
          {"half_fixed", gain_json(what_if->half_fixed)},
          {"none_fixed", gain_json(what_if->none_fixed)},
          {"range_reason", text_or_null(what_if->reason)}};
}

Json shape_json(const ReportLaunchShape& shape) {
  Json occupancy = nullptr;
  if (shape.occupancy)
    occupancy = {{"percent", finite(shape.occupancy->percent)},
                 {"limiter", text_or_null(shape.occupancy->limiter)}};
  return {{"grid", shape.grid},
          {"block", shape.block},
          {"registers", shape.registers},
          {"static_shared_bytes", shape.static_shared_bytes},
          {"dynamic_shared_bytes", shape.dynamic_shared_bytes},
          {"count", shape.count},
          {"gpu_s", finite(shape.gpu_s)},
          {"occupancy", std::move(occupancy)}};
}

Json path_json(const ReportGpuPath& path) {
  return {{"where", where_json(path.where)},
          {"via", text_or_null(path.via)},
          {"count", path.count},
          {"gpu_s", finite(path.gpu_s)},
          {"what_if", what_if_json(path.what_if)},
          {"stack", frames_json(path.stack)}};
}

const char* kind_name_of(ReportKernelNode::Kind kind) {
  switch (kind) {
    case ReportKernelNode::Kind::kernel:
      return "kernel";
    case ReportKernelNode::Kind::function:
      return "function";
    case ReportKernelNode::Kind::inlined:
      return "inlined";
    case ReportKernelNode::Kind::loop:
      return "loop";
    case ReportKernelNode::Kind::line:
      return "line";
    case ReportKernelNode::Kind::rest:
      return "rest";
  }
  return "rest";
}

Json line_or_null(int line) { return line > 0 ? Json(line) : Json(nullptr); }

Json samples_json(const ReportKernelSamples& kernel, const ReportSampleCount& count) {
  Json stalls = Json::array();
  for (const ReportStall& stall : count.stalls)
    if (stall.reason < kernel.reasons.size())
      stalls.push_back({{"reason", kernel.reasons[stall.reason]}, {"samples", finite(stall.samples)}});
  return {
      {"samples", finite(count.samples)}, {"latency", finite(count.latency)}, {"stalls", std::move(stalls)}};
}

Json node_json(const ReportKernelSamples& kernel, const ReportKernelNode& node, bool first) {
  Json json = {{"parent", first ? Json(nullptr) : Json(node.parent)},
               {"kind", kind_name_of(node.kind)},
               {"function", text_or_null(node.function)},
               {"file", text_or_null(node.file)},
               {"line", line_or_null(node.line)},
               {"last_line", line_or_null(node.last_line)},
               {"called_line", line_or_null(node.called_line)},
               {"estimated", node.estimated},
               {"share", finite(kernel.share(node.all.samples))},
               {"own", samples_json(kernel, node.own)},
               {"all", samples_json(kernel, node.all)}};
  if (node.what_if)
    json["what_if"] = {{"half", gain_json(node.what_if->half)}, {"none", gain_json(node.what_if->none)}};
  return json;
}

Json kernel_json(const std::optional<ReportKernelSamples>& kernel) {
  if (!kernel) return nullptr;
  Json nodes = Json::array(), source = Json::array();
  for (const ReportKernelNode& node : kernel->nodes) nodes.push_back(node_json(*kernel, node, nodes.empty()));
  for (const ReportSampledSource& one : kernel->source) {
    Json lines = Json::array();
    for (const ReportSampledSource::Line& line : one.lines)
      lines.push_back({{"text", line.text}, {"samples", finite(line.samples)}});
    source.push_back({{"file", one.file}, {"first_line", one.first}, {"lines", std::move(lines)}});
  }
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(finite(*value)) : Json(nullptr);
  };
  return {{"why_no_lines", text_or_null(kernel->why_no_lines)},
          {"notes", kernel->notes},
          {"issue_rate", finite(kernel->issue_rate)},
          {"eligible_rate", finite(kernel->eligible_rate)},
          {"busy_rate", or_null(kernel->busy_rate)},
          {"instructions_a_cycle", or_null(kernel->instructions_a_cycle)},
          {"active_rate", or_null(kernel->active_rate)},
          {"instructions_a_launch", or_null(kernel->instructions_a_launch)},
          {"hottest", kernel->hottest},
          {"nodes", std::move(nodes)},
          {"source", std::move(source)}};
}

Json work_json(const ReportGpuWork& work) {
  Json shapes = Json::array(), paths = Json::array();
  for (const ReportLaunchShape& shape : work.shapes) shapes.push_back(shape_json(shape));
  for (const ReportGpuPath& path : work.paths) paths.push_back(path_json(path));
  return {{"id", work.id},
          {"kind", kind_name_of(work.kind)},
          {"name", work.name},
          {"full_name", text_or_null(work.full_name)},
          {"count", work.count},
          {"gpu_s", finite(work.gpu_s)},
          {"percent", finite(work.percent)},
          {"shortest_s", finite(work.shortest_s)},
          {"median_s", finite(work.median_s)},
          {"longest_s", finite(work.longest_s)},
          {"least_s", finite(work.least_s)},
          {"most_s", finite(work.most_s)},
          {"bytes", work.bytes},
          {"in_graphs", work.in_graphs},
          {"what_if", what_if_json(work.what_if)},
          {"inside", kernel_json(work.inside)},
          {"shape_count", work.shape_count},
          {"shapes", std::move(shapes)},
          {"path_count", work.path_count},
          {"paths", std::move(paths)}};
}

void put(Json& into, const char* key, double value) {
  if (finite(value) != 0) into[key] = value;
}
void put(Json& into, const char* key, const std::string& text) {
  if (!text.empty()) into[key] = text;
}

Json times_json(const ContextTimes& times) {
  Json made = Json::object();
  put(made, "cpu_s", times.cpu_s);
  put(made, "driver_s", times.driver_s);
  put(made, "waited_s", times.waited_s);
  put(made, "gpu_s", times.gpu_s);
  put(made, "idle_s", times.idle_s);
  put(made, "recoverable_s", times.recoverable_s);
  return made;
}

Json context_json(const ContextTree& tree, uint32_t at) {
  const ReportContext& context = tree.context(at);
  const ContextTimes& all = tree.inclusive(at);
  Json made = {{"parent", at == 0 ? Json(nullptr) : Json(tree.parent(at))},
               {"kind", kind_name_of(context.kind)},
               {"name", context.name}};
  put(made, "file", context.file);
  put(made, "module", context.module);
  if (context.line > 0) made["line"] = context.line;
  if (context.called_line > 0) made["called_line"] = context.called_line;
  put(made, "language", context.language);
  if (context.kind == ReportContext::Kind::frame) made["owner"] = owner_name(context.owner);
  if (context.count > 0) made["count"] = context.count;
  if (context.threads > 0) made["threads"] = context.threads;
  if (context.work >= 0) made["work"] = context.work;
  if (context.place >= 0) made["place"] = context.place;
  if (context.estimated) made["estimated"] = true;
  made["own"] = times_json(tree.own(at));
  made["inclusive"] = times_json(all);
  put(made, "cpu_importance", tree.cpu_importance(all));
  put(made, "gpu_importance", tree.gpu_importance(all));
  if (context.half_gain_s) made["half_gain_s"] = finite(*context.half_gain_s);
  if (context.none_gain_s) made["none_gain_s"] = finite(*context.none_gain_s);
  put(made, "cpu_least_s", context.cpu_least_s);
  put(made, "cpu_most_s", context.cpu_most_s);
  put(made, "gpu_least_s", context.gpu_least_s);
  put(made, "gpu_most_s", context.gpu_most_s);
  return made;
}

Json idle_json(const std::optional<ReportIdle>& idle) {
  if (!idle) return nullptr;
  Json gaps = Json::array();
  for (const ReportIdle::Gap& gap : idle->gaps)
    gaps.push_back({{"context", gap.context},
                    {"line_before", gap.before > 0 ? Json(gap.before) : Json(nullptr)},
                    {"line_after", gap.after > 0 ? Json(gap.after) : Json(nullptr)},
                    {"seconds", finite(gap.seconds)},
                    {"count", gap.count},
                    {"asleep_s", gap.asleep_s ? Json(finite(*gap.asleep_s)) : Json(nullptr)}});
  Json loops = Json::array();
  for (const ReportIdle::Loop& loop : idle->loops)
    loops.push_back({{"function", loop.function},
                     {"file", loop.file},
                     {"module", loop.module},
                     {"offset", loop.offset},
                     {"first_line", loop.first_line > 0 ? Json(loop.first_line) : Json(nullptr)},
                     {"last_line", loop.last_line > 0 ? Json(loop.last_line) : Json(nullptr)},
                     {"caller", loop.caller},
                     {"caller_file", loop.caller_file},
                     {"caller_line", loop.caller_line > 0 ? Json(loop.caller_line) : Json(nullptr)},
                     {"seconds", finite(loop.seconds)},
                     {"samples", loop.samples}});
  return {{"phase_s", finite(idle->phase_s)},
          {"idle_s", finite(idle->idle_s)},
          {"between_s", finite(idle->between_s)},
          {"calls_s", finite(idle->calls_s)},
          {"waits_s", finite(idle->waits_s)},
          {"launching_s", finite(idle->launching_s)},
          {"recording_s", finite(idle->recording_s)},
          {"asleep_s", idle->asleep_s ? Json(finite(*idle->asleep_s)) : Json(nullptr)},
          {"loop_s", finite(idle->loop_s)},
          {"loop_idle_s", finite(idle->loop_idle_s)},
          {"loop_iterations", idle->loop_iterations},
          {"gaps", std::move(gaps)},
          {"loops", std::move(loops)}};
}

}  // namespace

Json profile_json(const std::optional<ReportProfile>& profile) {
  if (!profile) return nullptr;
  Json work = Json::array(), contexts = Json::array();
  for (const ReportGpuWork& one : profile->work) work.push_back(work_json(one));
  const ContextTree tree(*profile);
  for (uint32_t at = 0; at < tree.size(); ++at) contexts.push_back(context_json(tree, at));
  return {{"gpu_s", finite(profile->gpu_s)},
          {"gpu_busy_s", finite(profile->gpu_busy_s)},
          {"idle", idle_json(profile->idle)},
          {"threads_s", finite(profile->threads_s)},
          {"recording_s", finite(profile->recording_s)},
          {"pieces", profile->pieces},
          {"unnamed", profile->unnamed},
          {"work_count", profile->work_count},
          {"left_out_s", finite(profile->left_out_s)},
          {"notes", profile->notes},
          {"no_samples", text_or_null(profile->no_samples)},
          {"work", std::move(work)},
          {"contexts", std::move(contexts)}};
}

}  // namespace diogenes
