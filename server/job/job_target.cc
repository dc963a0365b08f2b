#include "server/job/job_target.h"

namespace sandglass::server {

const SessionPlace* SessionPlaceOf(const JobTarget& target) {
  if (const auto* cell = std::get_if<SessionCell>(&target)) return cell;
  return std::get_if<SessionProgram>(&target);
}

const std::string& ContextOf(const JobTarget& target) {
  static const std::string none;
  const SessionPlace* place = SessionPlaceOf(target);
  return place == nullptr ? none : place->context;
}

const SessionSpec* GuestOf(const JobTarget& target) {
  const SessionPlace* place = SessionPlaceOf(target);
  return place == nullptr || !place->guest ? nullptr : &*place->guest;
}

bool IsCell(const JobTarget& target) {
  if (const auto* look = std::get_if<LookAlone>(&target)) return look->as_cell;
  return std::holds_alternative<OwnKernel>(target) ||
         std::holds_alternative<SessionCell>(target);
}

bool IsLookAlone(const JobTarget& target) {
  return std::holds_alternative<LookAlone>(target);
}

}  // namespace sandglass::server
