// What the file agent is asked for: a byte says how many descriptors come
// along, the rest is the request. All that doesn't start a process of its own
// is done in a small tree.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/file_agent/file_ops.h"
#include "sandbox/file_agent/file_request.h"
#include "sandbox/file_agent/new_file.h"
#include "sandbox/os/files.h"
#include "sandbox/os/seqpacket.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::sandbox {
namespace {

using Operation = internal::FileRequest;

constexpr char kSecret[] = "secret";

class Fuzzed {
 public:
  Fuzzed() {
    outside_.Write(kSecret, kSecret);
    FUZZ_CHECK(::mkdir(outside_.Path("root").c_str(), 0700) == 0);
    root_.reset(::open(outside_.Path("root").c_str(),
                       O_PATH | O_DIRECTORY | O_CLOEXEC));
    FUZZ_CHECK(::mkdirat(root_.get(), "d", 0755) == 0);
    outside_.Write("root/f", "needle\nhay\nneedle hay\n");
    outside_.Write("root/d/.g", "hay");
    FUZZ_CHECK(::symlinkat("/d", root_.get(), "l") == 0);
    FUZZ_CHECK(::symlinkat("../secret", root_.get(), "up") == 0);
    FUZZ_CHECK(::mkfifoat(root_.get(), "p", 0644) == 0);
  }

  void Do(const internal::FileRequest& request) {
    internal::FileReply reply;
    os::Fd file;
    switch (request.operation_case()) {
      case Operation::kOpen:
        if (OpenForReading(root_, request.open(), reply, file).ok()) {
          FUZZ_CHECK(file.valid());
        }
        return;
      case Operation::kStat:
        (void)Stat(root_, request.stat(), reply);
        return;
      case Operation::kMakeDirectory:
        (void)MakeDirectory(root_, request.make_directory());
        return;
      case Operation::kMove:
        (void)Rename(root_, request.move());
        return;
      case Operation::kWrite:
        if (!request.write().with_descriptor()) {
          (void)WriteAtOnce(root_, request.write(), reply);
        }
        return;
      case Operation::kList:
      case Operation::kRemove:
      case Operation::kGlob:
      case Operation::kGrep:
      case Operation::kEdit:
        return DoTask(request);
      default:
        return;
    }
  }

  // Nothing half-written is left, and nothing outside was touched.
  void Check() const {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(outside_.Path("root"))) {
      const std::string name = entry.path().filename();
      constexpr size_t kTemporaryName = 22;
      FUZZ_CHECK(name.size() != kTemporaryName ||
                 entry.path().extension() != ".part");
    }
    const auto secret = os::ReadWholeFile(outside_.Path(kSecret));
    FUZZ_CHECK(secret.ok() && *secret == kSecret);
  }

 private:
  void DoTask(const internal::FileRequest& request) {
    const auto socket = os::SeqPacketPair(), notes = os::SeqPacketPair();
    FUZZ_CHECK(socket.ok() && notes.ok());
    FileTask task(request.id(), root_, socket->second, notes->second);
    internal::FileReply reply;
    (void)RunTask(task, request, os::Fd(), reply);
    FUZZ_CHECK(reply.ByteSizeLong() <= os::kMaxPacketBytes);
  }

  const fuzz::Directory outside_;
  os::Fd root_;
};

void Run(fuzz::Input input) {
  const size_t fds = input.Byte();
  const std::string_view data = input.Rest();
  internal::FileRequest request;
  if (!ReadFileRequest({data.data(), data.size()}, fds, request)) return;
  FUZZ_CHECK(fds <= 1);
  Fuzzed fuzzed;
  fuzzed.Do(request);
  fuzzed.Check();
}

}  // namespace
}  // namespace sandglass::sandbox

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::sandbox::Run({data, size});
  return 0;
}
