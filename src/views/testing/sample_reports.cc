#include "views/testing/sample_reports.h"

#include <string>

namespace diogenes {
namespace {

ReportFrame at(std::string function, std::string file, int line, uint64_t offset, bool inlined = false) {
  return {std::move(function), std::move(file), line, "/home/me/als/build/als", offset, inlined};
}

}  // namespace

Report empty_report() {
  Report report;
  report.command = {"./jacobi", "--size", "4096"};
  report.runtime_s = 2.5;
  report.driver_path = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
  report.driver_build_id = "0123456789abcdef0123456789abcdef01234567";
  report.driver_version = "580.159.04";
  report.wait_functions = {{0x22bb00, 27, 28}};
  report.device_name = "NVIDIA H200";
  report.compute_capability = "9.0";
  report.stages = {{"baseline", 2.5, 1.01}, {"tracing", 2.55, 1.02}, {"memory-tracing", 2.9, 1.16}};
  report.synchronizations = 1;
  report.transfers = 2;
  report.transferred_bytes = 128 << 20;
  report.waited_s = 1.9;
  report.functions = {{"cuCtxSynchronize", 1, 1.9, 1.9, 0}};
  return report;
}

Report als_report() {
  Report report = empty_report();
  report.command = {"./build/als", "--iterations", "500", "--name", "two words"};
  report.runtime_s = 1.25;
  report.stages = {{"baseline", 1.25, 1.0},
                   {"tracing", 1.28, 1.024},
                   {"memory-tracing", 1.61, 1.288},
                   {"sync-use", 1.34, 1.072}};
  report.synchronizations = 2501;
  report.transfers = 1000;
  report.transferred_bytes = 4'000'000'000;
  report.waited_s = 0.6235;
  report.functions = {{"cuMemcpyHtoD", 1000, 0.31, 0.12, 0.088},
                      {"cuMemFree", 1000, 0.212, 0.201, 0.1625},
                      {"cuCtxSynchronize", 501, 0.302, 0.3015, 0.02},
                      {"cuLaunchKernel", 12000, 0.042, 0, 0}};
  report.processes = {{std::nullopt, 4242, "node7", "/home/me/als/build/als"}};
  const std::string source = "/home/me/als/src/als.cc";

  ReportProblem release;
  release.id = "P1";
  release.key = "6a09e667f3bcc908";
  release.kind = "unnecessary-synchronization";
  release.operation = "cuMemFree";
  release.api = "cudaFree";
  release.count = release.instances = 500;
  release.waited_s = 0.11;
  release.call_s = 0.116;
  release.expected_benefit_s = 0.1;
  release.expected_benefit_percent = 8;
  release.fix =
      "allocate once and reuse the memory (a pool), or free it in stream order (cudaFreeAsync): both keep "
      "the "
      "memory from being reused too early";
  release.stack = {{"cudaFree", "", 0, "/usr/local/cuda/lib64/libcudart.so.12", 0x4f010, false},
                   at("als::Buffer::release()", source, 88, 0x1a30, true),
                   at("als::Buffer::~Buffer()", source, 93, 0x1a30, true),
                   at("void als::update_theta<float>(als::Matrix<float> const&, int)", source, 120, 0x1a30),
                   at("als::iterate(int)", source, 204, 0x2b10),
                   at("main", "/home/me/als/src/main.cc", 31, 0x3c00),
                   {"__libc_start_main", "", 0, "/usr/lib/x86_64-linux-gnu/libc.so.6", 0x27249, false}};
  release.conditions = {
      {"usual", "the wait inside a free keeps the memory from being reused while GPU work may still use it"}};
  release.why = "nothing used the result before a later synchronization waited for the same work";
  release.where = release.stack[1];
  release.where->column = 3;
  release.source = {
      86, {"  void release() {", "    if (!data_) return;", "\tcudaFree(data_);", "    data_ = nullptr;"}};
  ReportProblem second = release;
  second.id = "P2";
  second.key = "bb67ae8584caa73b";
  second.count = 480;
  second.waited_s = 0.091;
  second.call_s = 0.096;
  second.expected_benefit_s = 0.0625;
  second.expected_benefit_percent = 5;
  second.why =
      "nothing used the result of 480 of 500 calls before a later synchronization waited for the same work; used at als.cc:171 "
      "in the others";
  second.conditions.push_back({"timer", "it brackets a timer"});
  second.stack[3] = at("void als::update_x<float>(als::Matrix<float> const&, int)", source, 160, 0x1f30);

  ReportProblem transfer;
  transfer.id = "P3";
  transfer.key = "3c6ef372fe94f82b";
  transfer.kind = "duplicate-transfer";
  transfer.operation = "cuMemcpyHtoD";
  transfer.count = 499;
  transfer.instances = 500;
  transfer.waited_s = 0.06;
  transfer.call_s = 0.15;
  transfer.bytes = 1'962'934'272;
  transfer.expected_benefit_s = 0.088;
  transfer.expected_benefit_percent = 7.04;
  transfer.duplicate_of = {at("als::iterate(int)", source, 190, 0x2a00),
                           at("main", "/home/me/als/src/main.cc", 31, 0x3c00)};
  transfer.fix = "copy it once, before the loop";
  transfer.stack = transfer.duplicate_of;
  transfer.where = transfer.stack[0];
  transfer.via = "thrust::copy";
  transfer.why = "499 of 500 transfers carried data that the destination already held";

  ReportProblem misplaced;
  misplaced.id = "P4";
  misplaced.key = "a54ff53a5f1d36f1";
  misplaced.kind = "misplaced-synchronization";
  misplaced.operation = "cuCtxSynchronize";
  misplaced.api = "cudaDeviceSynchronize";
  misplaced.count = misplaced.instances = 500;
  misplaced.occurrences = {{0, 500, 2, {{2, false, 380}, {0, true, 120}}}};
  misplaced.waited_s = 0.3;
  misplaced.call_s = 0.3005;
  misplaced.expected_benefit_s = 0.02;
  misplaced.expected_benefit_percent = 1.6;
  misplaced.first_use = ReportUse{0.00123, {at("als::error(float const*)", source, 240, 0x2c00)}};
  misplaced.fix = "wait where the data is first used";
  misplaced.stack = {at("als::iterate(int)", source, 210, 0x2b90),
                     at("main", "/home/me/als/src/main.cc", 31, 0x3c00)};
  misplaced.where = misplaced.stack[0];
  misplaced.why = "what the calls wait for is used only later, at als.cc:240";

  ReportRequired error;
  error.id = "R1";
  error.key = "1f83d9abfb41bd6b-required";
  error.operation = "cuMemcpyDtoH";
  error.api = "cudaMemcpy";
  error.count = 499;
  error.instances = 500;
  error.occurrences = {{0, 499, 1, {{0, true, 499}}}};
  error.waited_s = 0.2;
  error.call_s = 0.21;
  error.calls = {{error.key, "cuMemcpyDtoH", "cudaMemcpy", 499, true},
                 {"3c6ef372fe94f82b-required", "cuMemcpyDtoHAsync", "cudaMemcpyAsync", 40, false}};
  error.up_to_s = 0.19;
  error.up_to_percent = 15.2;
  error.range = ReportRange{.low_s = 0.17, .high_s = 0.2};
  error.reasons = {{"cpu-access", 498}, {"small-range", 1}};
  error.used_for = "the CPU uses its result";
  error.fix = "bring the result less often, or let the GPU use it itself";
  error.used_by = ReportUse{0.000002, {at("als::converged(float)", source, 251, 0x2d00)}};
  ReportValue& value = error.used_by->value.emplace();
  value.followed = value.copied = 7;
  value.instances = 499;
  value.uses = {
      {"decides-a-branch", 6, 0.0003, {at("als::log(float)", source, 260, 0x2e00)}},
      {"not-followed-further", 1, std::nullopt, {at("als::converged(float)", source, 251, 0x2d00)}}};
  value.moved_up_to_s = 0.151;
  error.same_value = 480;
  error.values = 500;
  error.stack = {at("als::converged(float)", source, 250, 0x2cf0),
                 at("main", "/home/me/als/src/main.cc", 31, 0x3c00)};
  error.where = error.stack[0];
  report.required = {error};
  report.coverage = {2501, 2500, {{"small-range", 1}}};
  report.gpu_phase_s = 0.95;
  report.gpu_in_use_s = 0.9;
  report.tool_version = "0.1.0";
  report.started = "2026-11-23T05:00:00Z";
  report.together = ReportTogether{0.27, 21.6, {0.265, 0.275, "", 0.27, 0.27}};
  report.required_together = ReportTogether{0.19, 15.2, {0.17, 0.2, "", 0.19, 0.19}};

  report.problems = {release, transfer, second, misplaced};
  report.groups = {
      {"G1", "folded-function", "Fold on cudaFree", 0.1625, 13, 2, 0, {"P1", "P2"}},
      {"G4", "caller", "cudaFree in als.cc at line 88", 0.1625, 13, 2, 0, {"P1", "P2"}},
      {"G2", "single-point", "cudaFree at als.cc:88", 0.1, 8, 1, 0, {"P1"}},
      {"G3", "single-point", "cuMemcpyHtoD at als.cc:190", 0.088, 7.04, 0, 1, {"P3"}},
  };
  report.notices = {
      {"output-differs",
       "the output of the sync-use run differs from the first run's in 1 line; if the program is not "
       "deterministic, its findings may differ from run to run"}};
  return report;
}

Report bare_report() {
  Report report;
  report.command = {"/opt/app/solver\n", "--title", "it's \xff"};
  report.exit_status = 137;
  report.runtime_s = 0.0123;
  report.simulated = true;
  report.stages = {{"baseline", 0.0123, 1}};
  report.synchronizations = 3;
  report.waited_s = 0.00000042;
  report.incomplete = {
      "baseline: signal 9 killed the program",
      "the memory-tracing run is not there, so no synchronization and no transfer was judged"};
  ReportProblem problem;
  problem.id = "P1";
  problem.key = "1";
  problem.kind = "missed-parallelization";  // a kind of a later version
  problem.operation = "cuStreamSynchronize";
  problem.count = problem.instances = 1;
  problem.waited_s = 0.00000042;
  problem.call_s = 0.00000091;
  problem.expected_benefit_s = 0.00000042;
  problem.expected_benefit_percent = 0.0034;
  problem.first_use = ReportUse{};
  problem.stack = {{"", "", 0, "/opt/app/libsolver.so", 0x1234, false},
                   {"", "", 0, "", 0x7f0000001000, false},
                   {"void solve<double>(double const*)", "", 0, "/opt/app/libsolver.so", 0x2234, false}};
  problem.where = problem.stack[2];
  report.problems = {problem};
  return report;
}

Report transfers_report() {
  Report report = empty_report();
  report.command = {"./transfers"};
  const std::string source = "/home/me/sim/transfers.cc";
  auto add = [&](const char* kind, const char* operation, int line, double benefit) -> ReportProblem& {
    ReportProblem& problem = report.problems.emplace_back();
    problem.id = problem.key = "P" + std::to_string(report.problems.size());
    problem.kind = kind;
    problem.operation = operation;
    problem.count = 99;
    problem.instances = 100;
    problem.waited_s = benefit / 4;
    problem.call_s = benefit;
    problem.expected_benefit_s = benefit;
    problem.expected_benefit_percent = 40 * benefit;
    problem.stack = {at("sim::step(int)", source, line, 0x100u + static_cast<unsigned>(line))};
    problem.where = problem.stack[0];
    return problem;
  };
  add("duplicate-transfer-elsewhere", "cuMemcpyHtoD", 10, 0.07).duplicate_of = {
      at("sim::begin()", source, 4, 0x40)};
  add("round-trip-transfer", "cuMemcpyHtoD", 20, 0.06).duplicate_of = {
      at("sim::step(int)", source, 18, 0x112)};
  add("unused-transfer", "cuMemcpyHtoD", 30, 0.05).lost_at = {at("sim::step(int)", source, 31, 0x11f)};
  add("pageable-transfer", "cuMemcpyHtoDAsync", 40, 0.04).bytes = 1 << 30;
  add("repeated-allocation", "cuMemAlloc", 50, 0.03).fix = "allocate once";
  add("unused-allocation", "cuMemAlloc", 60, 0.02);
  return report;
}

namespace {

ReportProved proved(double expected_s, double seconds, double error_s, uint64_t calls, uint64_t applied) {
  constexpr double kPercent = 100 / 1.25;  // of a second of als
  ReportProved out{.expected_s = expected_s, .expected_percent = kPercent * expected_s};
  out.seconds = seconds, out.percent = kPercent * seconds;
  out.error_s = error_s, out.error_percent = kPercent * error_s;
  out.calls = calls, out.applied = applied;
  return out;
}

}  // namespace

Report proved_report() {
  Report report = als_report();
  report.problems[0].proved = proved(0.1, 0.095, 0.005, 500, 498);
  report.problems[3].proved = proved(0.02, 0.004, 0.002, 500, 500);
  report.problems[3].proved->as_expected = false;
  report.groups[0].proved = report.groups[1].proved = proved(0.1625, 0.15, 0.0045, 980, 978);
  report.required[0].proved = proved(0.19, 0.012, 0.003, 500, 20);
  report.required[0].proved->up_to = true;
  report.required[0].proved->correcting_s = 0.015, report.required[0].proved->correcting_percent = 1.2;
  ReportProof& proof = report.proof.emplace();
  proof.runtime_s = 1.26;
  proof.pairs = 5, proof.from_first_call = true;
  proof.own_cost_s = 0.0125, proof.own_cost_error_s = 0.0025;
  proof.together = proved(0.1825, 0.16, 0.006, 1480, 1478);
  proof.together->up_to = true;
  proof.together->correcting_s = 0.0125, proof.together->correcting_percent = 1;
  proof.findings = 3;
  proof.left_out = {"1 of 4 findings are transfers, which are not corrected yet"};
  ReportWithdrawn& wrong = proof.withdrawn.emplace_back();
  wrong.finding = report.problems[3];
  wrong.finding.id = "P5";
  wrong.finding.key = "510e527fade682d1";
  wrong.finding.api = "cudaStreamSynchronize";
  wrong.finding.operation = "cuStreamSynchronize";
  wrong.finding.expected_benefit_s = 0.015;
  wrong.finding.where->line = 300;
  wrong.finding.proved.reset();
  wrong.reason = "correcting it changed the results (stdout differs from the runs as it is at line 3)";
  return report;
}

Report crowded_report() {
  Report report = empty_report();
  report.command = {"./cfd"};
  ReportGroup fold{"G1", "folded-function", "Fold on cuMemFree", 0.5, 20, 8, 0, {}};  // more than all alone
  ReportGroup sequence{"G2", "sequence", "From cuMemFree at cfd.cc:3 to cuMemFree at cfd.cc:5", 0.2, 8, 2,
                       1,    {}};
  for (int i = 1; i <= 21; ++i) {
    ReportProblem problem;
    problem.id = "P" + std::to_string(i);
    problem.key = std::to_string(i);
    problem.kind = "unnecessary-synchronization";
    problem.operation = "cuMemFree";
    problem.count = problem.instances = 10;
    problem.waited_s = problem.call_s = 0.1 / i;
    problem.expected_benefit_s = 0.1 / i;
    problem.expected_benefit_percent = 4.0 / i;
    problem.stack = {at("cfd::f" + std::to_string(i), "cfd.cc", i, 0x10 * i)};
    problem.where = problem.stack[0];
    problem.why = "nothing used the result before a later synchronization waited for the same work";
    report.problems.push_back(problem);
    if (i <= 8) fold.members.push_back(problem.id);
    if (i >= 3 && i <= 5) sequence.members.push_back(problem.id);
  }
  report.groups = {fold, sequence};
  return report;
}

Report timed_report() {
  Report report = als_report();
  ReportTimeline& timeline = report.timeline.emplace();
  timeline.duration_s = report.runtime_s;
  timeline.names = {"cuLaunchKernel", "cuMemFree", "cuMemcpyDtoH", "kernel"};
  timeline.processes = {"als"};
  timeline.gpu_times = true;
  ReportLane thread{ReportLane::Kind::thread, 0, "main thread", 508, {}};
  ReportLane stream{ReportLane::Kind::stream, 0, "stream 1", 4, {}};
  for (int i = 0; i < 4; ++i) {
    const double begin = 0.001 + 0.3 * i;
    thread.intervals.push_back({begin, begin + 0.001, 0.001, 0, 1, 0, -1, -1});
    if (i < 3) thread.intervals.push_back({begin + 0.01, begin + 0.06, 0.05, 0.049, 1, 1, 0, -1});
    if (i == 3) thread.intervals.push_back({begin + 0.01, begin + 0.05, 0.04, 0.039, 1, 2, -1, 0});
    stream.intervals.push_back({begin + 0.001, begin + 0.055, 0.054, 0, 1, 3, -1, -1});
  }
  thread.intervals.push_back({1.0, 1.2, 0.1, 0, 500, 0, -1, -1});
  timeline.lanes = {thread, stream};
  timeline.events = 512;
  timeline.merged = 500;
  timeline.merged_below_s = 0.0005;
  timeline.full_at_s = {0.3, 0.6};
  timeline.full_length_s = 0.1;
  return report;
}

}  // namespace diogenes
