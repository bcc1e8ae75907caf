// Pieces of the JSON report that several of its sources make.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/report.h"

namespace diogenes {

using Json = nlohmann::ordered_json;  // keys in the order in which the schema lists them

inline Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
const char* owner_name(FrameOwner owner);
Json frames_json(const std::vector<ReportFrame>& stack);
Json where_json(const std::optional<ReportFrame>& where);

Json profile_json(const std::optional<ReportProfile>& profile);  // json_profile.cc

}  // namespace diogenes
