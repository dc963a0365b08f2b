#ifndef SANDGLASS_SANDBOX_WIRE_JAIL_LAYOUT_H_
#define SANDGLASS_SANDBOX_WIRE_JAIL_LAYOUT_H_

#include <sys/types.h>

namespace sandglass::sandbox {

// Ids inside a jail. Init has id 0, so that it never equals the program's.
// Outside both are ordinary ids of the yard's slice.
inline constexpr uid_t kInitUid = 0;
inline constexpr uid_t kCodeUid = 1000;

inline constexpr char kWorkspace[] = "/workspace";
inline constexpr char kHome[] = "/home/sandbox";
inline constexpr char kTerminals[] = "/dev/pts";
// Where a jail sees its layer. It has to be below a directory on which Landlock
// rights are given: Landlock ignores the directory that a mount hides.
inline constexpr char kLibraries[] = "/opt/libraries";
// Commands that an image lacks under the names by which they are usually
// called. It is the last directory in PATH.
inline constexpr char kCommands[] = "/opt/sandglass/bin";

// Places in the yard's root, made by root before the yard starts.
inline constexpr char kYardImages[] = "/images";
inline constexpr char kYardImage[] = "/images/default";  // the host's
inline std::string YardImage(const std::string& name) {  // "": the host's
  return name.empty() ? kYardImage : std::string(kYardImages) + "/" + name;
}
inline constexpr char kYardLayers[] = "/layers";    // by id
inline constexpr char kYardMount[] = "/mnt";        // a jail's root grows here
inline constexpr char kYardScratch[] = "/scratch";  // a jail's tmpfs, unseen

// Where a zygote finds its script and its library: both are descriptors of the
// zygote itself.
inline constexpr char kZygoteScript[] = "/proc/self/fd/202";
inline constexpr char kZygoteLibrary[] = "/proc/self/fd/201";

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_JAIL_LAYOUT_H_
