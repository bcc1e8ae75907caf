// Recording a program that runs in windows: the page that its agents read (ffm/control_page.h), from the launcher's side. Whoever
// opens a window holds it until it is closed; others wait for their turn. A holder that dies loses it: the window ends within a
// second.
#pragma once
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "base/units.h"
#include "ffm/control_page.h"
#include "trace/windows.h"

namespace diogenes::launcher {

class WindowControl {
 public:
  // A new page, closed. Error: the disk is full.
  static Result<WindowControl> make(const std::filesystem::path& stage_folder);
  // Of a run that has one. Error: it has none: it is recorded as a whole, or was.
  static Result<WindowControl> open(const std::filesystem::path& stage_folder);
  WindowControl(WindowControl&& other) noexcept;
  ~WindowControl();

  // Counts for `undisturbed` what work the program gives the GPU, opens a window for `duration`, waits until it is over, and
  // adds it to the stage's windows. It ends sooner if stop() was called, by any process, or if `goes_on` says no, which is
  // asked some times a second. Error: somebody else has a window open, this one was ended before it was opened, or it cannot be
  // written down.
  Result<Window> record(Nanoseconds undisturbed, Nanoseconds duration, const std::function<bool()>& goes_on);
  // The window that is open ends. False: none is open.
  bool stop();

 private:
  WindowControl(std::filesystem::path stage_folder, ControlPage* page)
      : stage_folder_(std::move(stage_folder)), page_(page) {}
  bool take();

  std::filesystem::path stage_folder_;
  ControlPage* page_;
};

}  // namespace diogenes::launcher
