// Where in the program something is, short enough for a line: paths relative to the reader's folder,
// functions without parameters, and of a stack the frames that tell its place.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "base/short_function.h"

namespace diogenes {

// What a view knows of its reader, beside the report.
struct Reader {
  std::string folder;   // paths are shown relative to it; "": as they are
  std::string session;  // as its user would type it; "": the newest
};

// Relative to `folder` where the file is in it or near it (at most two folders up); else as it is.
std::string short_path(const std::string& path, const std::string& folder);

// What paths are shown relative to: `folder`, or, where no place of the report lies in or near it, the folder that all
// of them lie in.
std::string common_folder(const Report& report, const std::string& folder);

// "file.cc:12 in a::b", "a::b in libx.so", "libx.so+0x1234"; at most `width` characters (a long function is
// cut).
std::string place_text(const ReportFrame& frame, const std::string& folder, size_t width);

// The place to act on: "src/als.cc:88 in als::step", at most `room` characters. Of a file elsewhere than in `folder`
// the name is enough: the details have its path.
std::string where_text(const std::optional<ReportFrame>& where, const std::string& folder, size_t room);

// At most `limit` frames, innermost first, up to main: those of the application, if the stack has any; of these those
// that have a line, if any has.
std::vector<const ReportFrame*> telling_frames(const std::vector<ReportFrame>& stack, size_t limit);

}  // namespace diogenes
