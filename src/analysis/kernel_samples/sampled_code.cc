#include "analysis/kernel_samples/sampled_code.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "analysis/report/report_kernel.h"

namespace diogenes {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSampledKernels = 20'000;
constexpr const char* kNoLineInformation =
    "its code has no line information, so that it is not known where in it its samples lie; compile with -lineinfo "
    "(nvcc, CMake: CMAKE_CUDA_FLAGS)";

// "_Z6kernelPf" of "_Z6kernelPf" and of "$_Z6kernelPf$_Z4leaff".
std::string kernel_of(std::string_view symbol) {
  if (symbol.starts_with('$')) symbol.remove_prefix(1);
  return std::string(symbol.substr(0, symbol.find('$', 1)));
}

std::optional<std::vector<uint8_t>> kept_bytes(const fs::path& file) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed)) return std::nullopt;
  const auto size = fs::file_size(file, failed);
  if (failed || size > CubinFile::kMostBytes) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  std::vector<uint8_t> bytes(size);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!in || static_cast<size_t>(in.gcount()) != size) return std::nullopt;
  return bytes;
}

class SampleSorter {
 public:
  explicit SampleSorter(std::span<const ProcessGpuSamples> processes) : processes_(processes) {
    out_.issued = reason_named(kSelected);
    out_.not_selected = reason_named(kNotSelected);
  }

  SampledCode sort() {
    for (const ProcessGpuSamples& process : processes_) add(process);
    for (size_t i = 0; i < contents_.size(); ++i) give_to_kernels(contents_[i]);
    for (Content& content : contents_)
      if (content.cubin) out_.cubins.push_back(std::move(content.cubin));
    return std::move(out_);
  }

 private:
  struct Content {
    std::unique_ptr<Cubin> cubin;  // null: `why` says why not
    std::string why;
    std::vector<InstructionSample> samples;
  };

  uint32_t reason_named(std::string_view name) {
    auto& all = out_.reasons;
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) return all.emplace_back(name), static_cast<uint32_t>(all.size() - 1);
    return static_cast<uint32_t>(found - all.begin());
  }

  uint32_t content_of(const fs::path& file) {
    const auto [known, fresh] = of_file_.try_emplace(file.string(), 0);
    if (!fresh) return known->second;
    auto bytes = kept_bytes(file);
    const std::string_view text =
        bytes ? std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
    const auto [same, first] =
        of_bytes_.try_emplace(std::string(text), static_cast<uint32_t>(contents_.size()));
    known->second = same->second;
    if (!first) return known->second;
    Content& content = contents_.emplace_back();
    if (!bytes) {
      content.why = "its code was kept, but cannot be read; measure again";
      return known->second;
    }
    if (auto cubin = Cubin::read(std::move(*bytes)); !cubin)
      content.why =
          "its code was kept, but is damaged (" + std::string(cubin.error().c_str()) + "); measure again";
    else if (cubin->lines().empty())
      content.why = kNoLineInformation;
    else
      content.cubin = std::make_unique<Cubin>(std::move(*cubin));
    return known->second;
  }

  void add(const ProcessGpuSamples& process) {
    const GpuSamples& all = process.samples;
    std::vector<uint32_t> reasons;
    for (const std::string& name : all.reasons) reasons.push_back(reason_named(name));
    std::vector<std::optional<uint32_t>> contents(all.modules.size());
    for (const GpuSamples::Instruction& one : all.instructions) {
      if (one.module >= all.modules.size() || one.function >= all.functions.size()) continue;
      const GpuSamples::Module& module = all.modules[one.module];
      const std::string& symbol = all.functions[one.function];
      std::string why = module.why_none.empty() ? kNoLineInformation : module.why_none;
      if (!module.code.empty()) {
        auto& number = contents[one.module];
        if (!number) number = content_of(process.folder / module.code);
        Content& content = contents_[*number];
        const auto place = content.cubin ? content.cubin->find(symbol, one.offset) : std::nullopt;
        if (place) {
          for (const GpuSamples::Reason& reason : one.reasons)
            if (reason.reason < reasons.size())
              content.samples.push_back(
                  {place->function, place->offset, reasons[reason.reason],
                   static_cast<double>(reason.samples),
                   static_cast<double>(std::min(reason.latency_samples, reason.samples))});
          continue;
        }
        why = content.cubin ? "some of its samples lie where its code is not known" : content.why;
      }
      SampledKernel* kernel = kernel_named(kernel_of(symbol));
      if (kernel && kernel->why_none.empty()) kernel->why_none = why;
      SampleCounts& counts = kernel ? kernel->without_code : out_.of_no_kernel;
      for (const GpuSamples::Reason& reason : one.reasons)
        if (reason.reason < reasons.size())
          counts.add(reasons[reason.reason], static_cast<double>(reason.samples),
                     static_cast<double>(std::min(reason.latency_samples, reason.samples)));
    }
  }

  // Null: there are too many.
  SampledKernel* kernel_named(const std::string& name) {
    const auto found = out_.kernels.find(name);
    if (found != out_.kernels.end()) return &found->second;
    return out_.kernels.size() < kMostSampledKernels ? &out_.kernels[name] : nullptr;
  }

  void give_to_kernels(Content& content) {
    auto& samples = content.samples;
    std::sort(samples.begin(), samples.end(),
              [](const InstructionSample& one, const InstructionSample& other) {
                return std::tie(one.function.value, one.offset, one.reason) <
                       std::tie(other.function.value, other.offset, other.reason);
              });
    SampledKernel::Part* part = nullptr;  // of the kernel of the last sample's function
    GpuFunctionIndex last;
    for (const InstructionSample& one : samples) {
      if (one.function != last) {
        last = one.function;
        part = part_of(content, one.function);
      }
      if (!part) {
        out_.of_no_kernel.add(one.reason, one.samples, one.latency);
        continue;
      }
      auto& own = part->samples;
      if (!own.empty() && own.back().function == one.function && own.back().offset == one.offset &&
          own.back().reason == one.reason) {
        own.back().samples += one.samples;
        own.back().latency += one.latency;
      } else {
        own.push_back(one);
      }
    }
    samples = {};
  }

  // Functions are sorted by section, and the kernel is the first in its own. Null: there is none.
  SampledKernel::Part* part_of(const Content& content, GpuFunctionIndex function) {
    const Cubin& cubin = *content.cubin;
    GpuFunctionIndex at = function;
    while (!cubin.function(at).is_kernel) {
      if (at.value == 0 || cubin.function({at.value - 1}).section != cubin.function(function).section)
        return nullptr;
      --at.value;
    }
    SampledKernel* kernel = kernel_named(std::string(cubin.function(at).symbol));
    if (!kernel) return nullptr;
    for (SampledKernel::Part& part : kernel->parts)
      if (part.cubin == &cubin && part.kernel == at) return &part;
    return &kernel->parts.emplace_back(SampledKernel::Part{&cubin, at, {}});
  }

  const std::span<const ProcessGpuSamples> processes_;
  SampledCode out_;
  std::vector<Content> contents_;
  std::unordered_map<std::string, uint32_t> of_file_, of_bytes_;
};

}  // namespace

SampledCode sort_samples(std::span<const ProcessGpuSamples> processes) {
  return SampleSorter(processes).sort();
}

}  // namespace diogenes
