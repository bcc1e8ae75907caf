// Where time goes for pprof and what reads its files, as profile.proto of github.com/google/pprof, not compressed. In:
// a report. Out: the whole file. A sample is a context without those it calls. Kernels are the innermost frames, below
// the call that gave them. The line of a frame is the one that calls the next.
#include <map>
#include <string_view>

#include "views/exports/exports.h"
#include "views/exports/protobuf.h"
#include "views/exports/stacks.h"
#include "views/shared/utf8.h"

namespace diogenes {
namespace {

// Numbers of the fields, as profile.proto has them.
namespace profile_field {
constexpr int kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kStringTable = 6,
              kDurationNanos = 10, kComment = 13, kDefaultSampleType = 14;
}
namespace value_type_field {
constexpr int kType = 1, kUnit = 2;
}
namespace sample_field {
constexpr int kLocationId = 1, kValue = 2;
}
namespace mapping_field {
constexpr int kId = 1, kFilename = 5, kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9;
}
namespace location_field {
constexpr int kId = 1, kMappingId = 2, kLine = 4;
}
namespace line_field {
constexpr int kFunctionId = 1, kLine = 2;
}
namespace function_field {
constexpr int kId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5;
}

class PprofWriter {
 public:
  explicit PprofWriter(const Report& report) : report_(report) { text(""); }

  std::string write() {
    for (const char* type : {"cpu", "driver", "waited", "gpu"}) put_type(type, "nanoseconds");
    put_type("count", "count");
    profile_.number(profile_field::kDefaultSampleType, text("cpu"));
    profile_.number(profile_field::kDurationNanos, static_cast<uint64_t>(nanoseconds(report_.runtime_s)));
    if (report_.profile) put_samples(report_.profile->contexts);
    std::vector<uint64_t> comments = {text("diogenes " + report_.tool_version)};
    if (report_.profile)
      for (const std::string& note : report_.profile->notes) comments.push_back(text(note));
    profile_.numbers(profile_field::kComment, comments);
    for (const std::string& one : strings_) profile_.text(profile_field::kStringTable, one);
    return profile_.bytes();
  }

 private:
  struct Function {
    std::string name, file;
    int line = 0;
    uint64_t mapping = 0;
    auto operator<=>(const Function&) const = default;
  };

  uint64_t text(const std::string& words) {
    const auto [found, added] = string_numbers_.emplace(valid_utf8(words), strings_.size());
    if (added) strings_.push_back(found->first);
    return found->second;
  }

  void put_type(const char* type, const char* unit) {
    ProtobufMessage value_type;
    value_type.number(value_type_field::kType, text(type));
    value_type.number(value_type_field::kUnit, text(unit));
    profile_.message(profile_field::kSampleType, value_type);
  }

  void put_samples(const std::vector<ReportContext>& contexts) {
    for (const ReportContext& context : contexts) functions_of_.push_back(function(context));
    for (uint32_t i = 0; i < contexts.size(); ++i) {
      const ReportContext& context = contexts[i];
      std::vector<uint64_t> values;
      for (double seconds : {context.cpu_s, context.driver_s, context.waited_s, context.gpu_s})
        values.push_back(static_cast<uint64_t>(nanoseconds(seconds)));
      values.push_back(context.count);
      if (values == std::vector<uint64_t>(values.size())) continue;
      const std::vector<uint32_t> stack = stack_of(contexts, i);
      std::vector<uint64_t> locations;
      int line = context.line;
      for (size_t at = stack.size(); at-- > 0;) {
        const ReportContext& frame = contexts[stack[at]];
        locations.push_back(location(functions_of_[stack[at]], line > 0 ? line : frame.line));
        line = frame.called_line;
      }
      ProtobufMessage sample;
      sample.numbers(sample_field::kLocationId, locations);
      sample.numbers(sample_field::kValue, values);
      profile_.message(profile_field::kSample, sample);
    }
  }

  uint64_t mapping(const std::string& module) {
    if (module.empty()) return 0;
    const auto [found, added] = mappings_.emplace(module, mappings_.size() + 1);
    if (added) {
      ProtobufMessage mapping;
      mapping.number(mapping_field::kId, found->second);
      mapping.number(mapping_field::kFilename, text(module));
      // Else pprof looks for the file, to name functions.
      for (int field :
           {mapping_field::kHasFunctions, mapping_field::kHasFilenames, mapping_field::kHasLineNumbers})
        mapping.number(field, 1);
      profile_.message(profile_field::kMapping, mapping);
    }
    return found->second;
  }

  const Function* function(const ReportContext& context) {
    const ReportFrame frame = frame_of(context);
    const Function key{context_name(context), frame.file, frame.line, mapping(frame.module)};
    const auto [found, added] = functions_.emplace(key, functions_.size() + 1);
    if (added) {
      ProtobufMessage function;
      function.number(function_field::kId, found->second);
      function.number(function_field::kName, text(key.name));
      function.number(function_field::kSystemName, text(context.name.empty() ? key.name : context.name));
      function.number(function_field::kFilename, text(key.file));
      function.number(function_field::kStartLine, static_cast<uint64_t>(key.line));
      profile_.message(profile_field::kFunction, function);
    }
    return &found->first;
  }

  uint64_t location(const Function* function, int line) {
    const auto [found, added] = locations_.emplace(std::pair{function, line}, locations_.size() + 1);
    if (added) {
      ProtobufMessage place, location;
      place.number(line_field::kFunctionId, functions_.at(*function));
      if (line > 0) place.number(line_field::kLine, static_cast<uint64_t>(line));
      location.number(location_field::kId, found->second);
      location.number(location_field::kMappingId, function->mapping);
      location.message(location_field::kLine, place);
      profile_.message(profile_field::kLocation, location);
    }
    return found->second;
  }

  const Report& report_;
  ProtobufMessage profile_;
  std::vector<std::string> strings_;
  std::map<std::string, uint64_t> string_numbers_, mappings_;
  std::map<Function, uint64_t> functions_;
  std::map<std::pair<const Function*, int>, uint64_t> locations_;
  std::vector<const Function*> functions_of_;  // of each context
};

}  // namespace

std::string to_pprof(const Report& report) { return PprofWriter(report).write(); }

}  // namespace diogenes
