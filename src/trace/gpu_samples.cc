#include "trace/gpu_samples.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include "driver/gpu_samples_file.h"
#include "trace/mapped_file.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

// No process has more of anything. Damaged files do: with this, sums of all that a file holds stay inside 64 bits.
constexpr uint64_t kMostSamples = uint64_t{1} << 43;
static_assert(SamplesFile::kMostBytes / sizeof(SampledSum) < uint64_t{1} << 20);

struct ResultSentence {
  int result;
  const char* sentence;
};
constexpr ResultSentence kResults[] = {
    {12, "the process has more contexts at a time than are sampled; of those beyond there are no samples"},
    {13, "draining the GPU's samples did not end in time; some are missing"},
    {26, "another profiler uses the GPU's counters; end it, and measure again"},
    {33, "this is a virtual GPU that may not be sampled; the host's administrator can allow profiling of it"},
    {35,
     "this user may not read the GPU's counters; run as root, or load the driver with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {38, "the program or another tool uses CUPTI's older profiling interface; measure without it"},
    {39,
     "another tool holds the profiling interface (CUPTI), which serves one at a time; measure without it"},
    {40,
     "this user may not read the counters of this virtual GPU; run as root, or load the driver with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {41, "the GPU is in confidential computing mode, which allows no sampling; measure with the mode off"},
    {42, "this GPU, made for mining, cannot be sampled; measure on another one"},
    {43, "this is a part of a GPU (MIG), which cannot be sampled; measure on a whole one"},
    {44, "GPUs that are joined (SLI) cannot be sampled; measure on a single one"},
    {45, "GPUs cannot be sampled under WSL; measure on Linux itself"},
};
constexpr int kCuptiUnknown = 999;

std::string sentence_of(const SamplesHeader& header) {
  if (header.failed_step == SamplingStep::none) return "";
  for (const ResultSentence& known : kResults)
    if (header.failed_result == known.result) return known.sentence;
  const std::string error = " (CUPTI error " + std::to_string(header.failed_result) + ")";
  switch (header.failed_step) {
    case SamplingStep::library:
      return "this libcupti is older than CUDA 12.4; name a newer one with DIOGENES_CUPTI";
    case SamplingStep::counters_library:
      return "libnvperf_host.so is not beside libcupti; install it (it comes with CUDA toolkits, and with libcupti in packages "
             "of Python), or name another libcupti with DIOGENES_CUPTI";
    case SamplingStep::drain:
      if (header.failed_result == kCuptiUnknown)
        return "another process samples this GPU, or its counters are in use; end it, and measure again";
      return "samples could not be read" + error +
             "; measure again with --samples off if the program failed, too";
    default:
      return "this GPU, or this driver with this libcupti, cannot be sampled" + error +
             "; a libcupti of the driver's own version may help (DIOGENES_CUPTI)";
  }
}

std::string sentence_of(WhyNoCode why) {
  switch (why) {
    case WhyNoCode::no_lines:
      return "it has no lines; compile it with -lineinfo to see its functions, loops and lines";
    case WhyNoCode::unreadable:
      return "it is not in a format that is known";
    case WhyNoCode::no_room:
      return "the code of this process is larger than what is kept of one";
    default:
      return "it could not be written; is the disk full?";
  }
}

class Reader {
 public:
  Reader(const fs::path& folder, std::span<const std::byte> bytes, GpuSamples& samples)
      : folder_(folder),
        bytes_(bytes.first(std::min(bytes.size(), SamplesFile::kMostBytes))),
        out_(samples) {}

  // Bytes behind the last record that can be read.
  size_t read() {
    size_t at = sizeof(SamplesHeader);
    while (bytes_.size() - at >= sizeof(SampledSum)) {
      const size_t length = take(at);
      if (length == 0) break;
      at += length;
    }
    order();
    const auto rest = bytes_.subspan(at);
    return std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{}; })
               ? 0
               : rest.size();
  }

 private:
  struct Sum {
    uint32_t module, function, reason;
    uint64_t offset;
    GpuSamples::Reason counts;
  };
  struct NamedReason {
    uint32_t position;  // in out_.reasons
    bool latency;
  };

  template <typename Record>
  Record record_at(size_t at) const {
    Record record;
    memcpy(&record, bytes_.data() + at, sizeof record);
    return record;
  }

  // The length of the record; 0: it cannot be read.
  size_t take(size_t at) {
    switch (record_at<SampledType>(at)) {
      case SampledType::reason:
      case SampledType::function:
        return take_name(at);
      case SampledType::module:
        return take_module(record_at<SampledModule>(at));
      case SampledType::sum:
        return take_sum(record_at<SampledSum>(at));
      case SampledType::device:
        return take_device(record_at<SampledDevice>(at));
      default:
        return 0;
    }
  }

  size_t take_name(size_t at) {
    const auto record = record_at<SampledName>(at);
    constexpr size_t kLength = sizeof record;
    const size_t padded = (size_t{record.bytes} + kLength - 1) / kLength * kLength;
    if (record.bytes > kLongestSampledName || padded > bytes_.size() - at - kLength) return 0;
    const std::string_view name(reinterpret_cast<const char*>(bytes_.data()) + at + kLength, record.bytes);
    if (record.type == SampledType::function)
      out_.functions.emplace_back(name);
    else if (reasons_.size() < kMostReasons)
      reasons_.push_back(reason_of(name));
    else
      return 0;
    return kLength + padded;
  }

  // CUPTI has two reasons for one: all samples, and those of them in which no warp issued.
  NamedReason reason_of(std::string_view name) {
    constexpr std::string_view kFront = "smsp__pcsamp_warps_issue_stalled_", kLatency = "_not_issued";
    if (name.starts_with(kFront)) name.remove_prefix(kFront.size());
    const bool latency = name.ends_with(kLatency);
    if (latency) name.remove_suffix(kLatency.size());
    auto known = std::find(out_.reasons.begin(), out_.reasons.end(), name);
    if (known == out_.reasons.end()) known = out_.reasons.emplace(known, name);
    return {static_cast<uint32_t>(known - out_.reasons.begin()), latency};
  }

  size_t take_module(const SampledModule& record) {
    GpuSamples::Module& module = out_.modules.emplace_back();
    WhyNoCode why = record.why_none;
    if (why == WhyNoCode::kept) {
      char name[64];
      snprintf(name, sizeof name, kKeptCodeFile, static_cast<unsigned long long>(record.code));
      std::error_code failed;
      if (fs::is_regular_file(folder_ / name, failed))
        module.code = (folder_ / name).string();
      else
        why = WhyNoCode::not_written;
    }
    if (module.code.empty()) module.why_none = sentence_of(why);
    return sizeof record;
  }

  size_t take_sum(const SampledSum& record) {
    if (record.module - 1 >= out_.modules.size() || record.function - 1 >= out_.functions.size() ||
        record.reason - 1 >= reasons_.size())
      return 0;
    const uint64_t samples = std::min(record.samples, kMostSamples);
    const NamedReason reason = reasons_[record.reason - 1];
    const GpuSamples::Reason counts{reason.position, reason.latency ? 0 : samples,
                                    reason.latency ? samples : 0};
    if (samples > 0)
      sums_.push_back({record.module - 1, record.function - 1, reason.position, record.offset, counts});
    return sizeof record;
  }

  size_t take_device(const SampledDevice& record) {
    out_.devices.push_back({{record.domain, record.bus, record.device}, record.multiprocessors});
    return sizeof record;
  }

  void order() {
    const auto key = [](const Sum& sum) {
      return std::tie(sum.module, sum.function, sum.offset, sum.reason);
    };
    std::sort(sums_.begin(), sums_.end(),
              [&](const Sum& one, const Sum& other) { return key(one) < key(other); });
    for (const Sum& sum : sums_) {
      GpuSamples::Instruction* last = out_.instructions.empty() ? nullptr : &out_.instructions.back();
      if (!last || last->module != sum.module || last->function != sum.function || last->offset != sum.offset)
        last = &out_.instructions.emplace_back(
            GpuSamples::Instruction{sum.module, sum.function, sum.offset, {}});
      if (last->reasons.empty() || last->reasons.back().reason != sum.reason)
        last->reasons.push_back({sum.reason});
      last->reasons.back().samples += sum.counts.samples;
      last->reasons.back().latency_samples += sum.counts.latency_samples;
    }
    for (GpuSamples::Instruction& instruction : out_.instructions)
      for (GpuSamples::Reason& reason : instruction.reasons)
        reason.samples =
            std::max(reason.samples, reason.latency_samples);  // latency samples are some of them
  }

  const fs::path& folder_;
  std::span<const std::byte> bytes_;
  GpuSamples& out_;
  std::vector<NamedReason> reasons_;  // by number, from 1
  std::vector<Sum> sums_;
};

}  // namespace

GpuSamples read_gpu_samples(const fs::path& process_folder, std::vector<std::string>& missing) {
  GpuSamples samples;
  const fs::path path = process_folder / kGpuSamplesFile;
  std::error_code failed;
  if (!fs::exists(path, failed)) return samples;
  auto file = MappedFile::open(path);
  if (!file) {
    missing.push_back(std::string(file.error().c_str()) + "; samples of the GPU are missing");
    return samples;
  }
  const std::string shown = process_folder.filename().string() + "/" + kGpuSamplesFile;
  const auto* header = file->at<SamplesHeader>(0);
  if (!header || memcmp(header->magic, kGpuSamplesMagic, sizeof header->magic) != 0) {
    missing.push_back(
        shown + ": it does not begin like a file of samples; samples of the GPU are missing; measure again");
    return samples;
  }
  samples.period_cycles = std::min(header->period_cycles, kMostSamples);
  samples.total = std::min(header->total, kMostSamples);
  samples.dropped = std::min(header->dropped, kMostSamples);
  samples.foreign = std::min(header->foreign, kMostSamples);
  samples.full_buffers = std::min(header->full_buffers, kMostSamples);
  samples.left_out = std::min(header->left_out, kMostSamples);
  samples.ended_ns = std::max<int64_t>(header->ended_ns, 0);
  samples.why_none = sentence_of(*header);
  if (const size_t rest = Reader(process_folder, file->bytes(), samples).read(); rest > 0)
    missing.push_back(shown + ": " + std::to_string(rest) +
                      " bytes that cannot be read; some samples of the GPU are missing; measure again");
  return samples;
}

}  // namespace diogenes
