// The explorer's texts: a problem, a finding, a needed wait, the session, help.
#pragma once
#include <memory>

#include "views/explorer/context.h"
#include "views/explorer/view.h"
#include "views/shared/context_tree.h"
#include "views/shared/outline.h"

namespace diogenes::explorer {

// In full, or as short as in the report.
std::vector<Line> finding_page(const Context& context, const Finding& finding, size_t columns, bool whole);
std::vector<Line> required_page(const Context& context, const ReportRequired& required, size_t columns,
                                bool whole);
std::vector<Line> work_page(const Context& context, const ReportGpuWork& work, size_t columns, bool whole);
std::vector<Line> context_page(const Context& context, const ContextRows& rows, uint32_t number,
                               size_t columns);

// "cudaFree: needless wait"
std::string problem_name(const ReportProblem& problem);

std::unique_ptr<View> problem_view(const Context& context, const ReportProblem& problem);
std::unique_ptr<View> finding_view(const Context& context, const Finding& finding);
std::unique_ptr<View> required_view(const Context& context, const ReportRequired& required);
std::unique_ptr<View> work_view(const Context& context, const ReportGpuWork& work);
std::unique_ptr<View> context_view(const Context& context, const ContextRows& rows, uint32_t number);
std::unique_ptr<View> functions_view(const Context& context);
std::unique_ptr<View> session_view(const Context& context);
std::unique_ptr<View> help_view();

}  // namespace diogenes::explorer
