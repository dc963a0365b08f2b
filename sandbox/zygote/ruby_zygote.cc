// sandglass-zygote-ruby.so: turns /usr/bin/ruby into a zygote when the dynamic
// linker loads it before libruby (ld.so(8), LD_PRELOAD). It needs no header of
// Ruby: it declares those public functions of the C interface (doc/extension)
// that it calls and libruby exports. Tested with 3.1 and 3.3, the versions of
// Debian 12 and 13.
//
// Ruby starts as for any program: `ruby main.rb`. Before it parses the file it
// carries out its options, and here one was added: to require a name that only
// this library knows. While that is being "required", the zygote serves. In a
// runner the call returns; by then main.rb is the user's file, and everything
// that follows is done by Ruby itself.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "sandbox/os/io.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/process.h"
#include "sandbox/wire/jail_layout.h"
#include "sandbox/zygote/zygote.h"

extern "C" {
using RubyValue = uintptr_t;  // VALUE of ruby.h
using RubyId = uintptr_t;     // ID

extern RubyValue rb_cModule;
extern RubyValue rb_mProcess;
RubyId rb_intern(const char* name);
RubyValue rb_funcall(RubyValue self, RubyId method, int count, ...);
RubyValue rb_call_super(int count, const RubyValue* arguments);
RubyValue rb_eval_string_protect(const char* code, int* failed);
RubyValue rb_protect(RubyValue (*function)(RubyValue), RubyValue argument,
                     int* failed);
RubyValue rb_errinfo(void);
void rb_set_errinfo(RubyValue error);
void rb_define_singleton_method(RubyValue self, const char* name,
                                RubyValue (*function)(int, RubyValue*,
                                                      RubyValue),
                                int count);
RubyValue rb_str_new(const char* text, long size);
RubyValue rb_str_new_cstr(const char* text);
RubyValue rb_ary_new(void);
RubyValue rb_ary_push(RubyValue array, RubyValue element);
RubyValue rb_ary_entry(RubyValue array, long at);
char* rb_string_value_cstr(volatile RubyValue* string);
char* rb_string_value_ptr(volatile RubyValue* string);
long rb_num2long(RubyValue number);
void ruby_set_argv(int count, char** arguments);
void ruby_init_setproctitle(int count, char** arguments);
int rb_objspace_each_objects(int (*function)(void* from, void* to, size_t size,
                                             void* data),
                             void* data);
void rb_gc_register_address(RubyValue* object);
void rb_gc_unregister_address(RubyValue* object);
}

#define SANDGLASS_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace sandglass::sandbox {
namespace {

constexpr char kHook[] = "sandglass zygote";
// Stands in the script before the analyser's text.
constexpr char kScriptEnd[] = "\n__END__\n";
// The facts are sent to the daemon in one datagram.
constexpr size_t kMaxFactsBytes = 96 * 1024;
constexpr char kTooManyFacts[] = "sandglass-facts 1\noverflow\n";
// The content of the file that Ruby opens while the real program isn't known
// yet.
constexpr char kPlaceholder[] = "nil\n";
// Ruby's own descriptors have numbers below this.
constexpr int kOwnFds = 32;

template <typename Function>
Function* Next(Function* /*ours*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The state of this process. Ruby unwinds the stack with longjmp, so nothing
// with a destructor may be on the stack when Ruby is called.
struct State {
  std::string interpreter;
  std::vector<char*> argv;            // as Ruby is told
  const char* program = nullptr;      // main.rb
  std::vector<const char*> features;  // whose code is kept ready
  // Objects that the garbage collector must keep until a program comes: the
  // name to be required and the script's module.
  RubyValue hook = 0;
  RubyValue script = 0;
  Zygote zygote;
  bool ordered = false;  // the next fork is for an order
  std::vector<int> event_fds;
  std::vector<int> poll_fds;
  int program_fd = -1;
  Runner* runner = nullptr;
  pid_t runner_pid = -1;
};
State* state = nullptr;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  ::_exit(1);
}

// Writes the last error's message to the zygote's log and clears the error.
void LogError() {
  RubyValue text = rb_funcall(rb_errinfo(), rb_intern("full_message"), 0);
  std::fprintf(stderr, "%s\n", rb_string_value_cstr(&text));
  int failed = 0;
  rb_set_errinfo(rb_eval_string_protect("nil", &failed));
}

std::string ReadScript() {
  struct stat info = {};
  if (::fstat(kZygoteOwnScriptFd, &info) != 0) return "";
  std::string text(static_cast<size_t>(info.st_size), 0);
  const ssize_t size = ::pread(kZygoteOwnScriptFd, text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

// Ruby wakes itself through these; a runner must not share them with its
// zygote.
void FindEventFds() {
  for (int fd = 3; fd < kOwnFds; ++fd) {
    char link[32];
    char target[64] = {};
    std::snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (::readlink(link, target, sizeof(target) - 1) <= 0) continue;
    if (std::strcmp(target, "anon_inode:[eventfd]") == 0) {
      state->event_fds.push_back(fd);
    } else if (std::strcmp(target, "anon_inode:[eventpoll]") == 0) {
      state->poll_fds.push_back(fd);
    }
  }
}

// Gives a new descriptor this number.
void Remake(os::Fd made, int fd) {
  if (!made.valid()) state->runner->Fail();
  if (made.get() == fd) {
    (void)made.release();
  } else if (::dup3(made.get(), fd, O_CLOEXEC) < 0) {
    state->runner->Fail();
  }
}

// Makes new ones under the numbers that Ruby remembers. Ruby may or may not
// notice by its process number that it was forked, and make others itself:
// runner and zygote can have the same number, each in its own namespace. From
// 3.3 on it closes those that it has, and ends where one isn't there.
void RemakeEventFds() {
  for (const int fd : state->event_fds) {
    Remake(os::Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), fd);
  }
  for (const int fd : state->poll_fds) {
    Remake(os::Fd(::epoll_create1(EPOLL_CLOEXEC)), fd);
  }
}

void AtExit(int code, void* /*unused*/) {
  // What the program forked ends in Ruby's own way.
  if (::getpid() == state->runner_pid) state->runner->Finish(code);
}

RubyValue GetReady(RubyValue self) {
  const std::string* text = new std::string(ReadScript());
  const RubyValue space = rb_funcall(rb_cModule, rb_intern("new"), 0);
  state->script =
      rb_funcall(space, rb_intern("module_eval"), 2,
                 rb_str_new(text->data(), static_cast<long>(text->size())),
                 rb_str_new_cstr("zygote.rb"));
  const size_t end = text->find(kScriptEnd);
  if (end == std::string::npos) Die("a script without an analyser");
  const char* rest = text->data() + end + sizeof(kScriptEnd) - 1;
  const RubyValue analyser =
      rb_str_new(rest, text->data() + text->size() - rest);
  delete text;
  const RubyValue names = rb_ary_new();
  for (const char* feature : state->features) {
    rb_ary_push(names, rb_str_new_cstr(feature));
  }
  const RubyValue libraries =
      rb_funcall(state->script, rb_intern("get_ready"), 4, self, names,
                 rb_str_new_cstr(state->program), analyser);
  state->program_fd = static_cast<int>(rb_num2long(
      rb_funcall(state->script, rb_intern("program_descriptor"), 0)));
  const long count = rb_num2long(rb_funcall(libraries, rb_intern("size"), 0));
  for (long i = 0; i < count; ++i) {
    RubyValue path = rb_ary_entry(libraries, i);
    // Ruby will find them loaded; none of their code has run.
    if (::dlopen(rb_string_value_cstr(&path), RTLD_LAZY) == nullptr) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
      std::fprintf(stderr, "%s\n", ::dlerror());
    }
  }
  return self;
}

int OwnObjects(void* from, void* to, size_t /*size*/, void* /*data*/) {
  os::OwnPages(from, to);
  return 0;
}

// When Ruby ends, it writes to most of the pages that contain objects.
RubyValue Rehearse(RubyValue script) {
  const RubyValue result = rb_funcall(script, rb_intern("rehearse"), 0);
  rb_objspace_each_objects(OwnObjects, nullptr);
  return result;
}

// Whether Ruby has to be started anew for this program, because of its first
// line.
RubyValue Begin(RubyValue script) {
  return rb_funcall(script, rb_intern("begin_program"), 0);
}

RubyValue Fork(RubyValue self) {
  return rb_funcall(self, rb_intern("fork"), 0);
}

// Returns what the script finds out about the files, in the child that will
// report it.
RubyValue Look(RubyValue files) {
  return rb_funcall(state->script, rb_intern("look"), 1, files);
}

// The rest of the life of a child of the runner. Whatever it loads and defines
// disappears with it.
[[noreturn]] void LookAndTell(const std::vector<RunnerJobBody::File>& files,
                              const os::Fd& facts) {
  if (!state->runner->CutOff()) ::_exit(1);
  const RubyValue list = rb_ary_new();
  for (const RunnerJobBody::File& file : files) {
    const RubyValue pair = rb_ary_new();
    rb_ary_push(pair, rb_str_new_cstr(file.path));
    rb_ary_push(pair, rb_str_new(file.content.data(),
                                 static_cast<long>(file.content.size())));
    rb_ary_push(list, pair);
  }
  int failed = 0;
  RubyValue text = rb_protect(Look, list, &failed);
  if (failed != 0) ::_exit(1);
  const auto size = static_cast<size_t>(
      rb_num2long(rb_funcall(text, rb_intern("bytesize"), 0)));
  ::_exit(os::WriteAll(facts.get(), {rb_string_value_ptr(&text), size}) ? 0
                                                                        : 1);
}

// Reads until the child closes its end, or until there is too much.
std::string ReadFacts(const os::Fd& from) {
  std::string text(kMaxFactsBytes + 1, 0);
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t more =
        ::read(from.get(), text.data() + size, text.size() - size);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    size += static_cast<size_t>(more);
  }
  if (size == text.size()) return kTooManyFacts;
  text.resize(size);
  return text;
}

// Finds out in a child what the text of the files names: Ruby's parser can't be
// loaded here, where the program would see it. Empty when that failed.
std::string LookAt(const std::vector<RunnerJobBody::File>& files) {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const os::Fd from(ends[0]);
  os::Fd to(ends[1]);
  // Ruby must not notice the child's end, either.
  sigset_t child_signal;
  sigset_t before;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child_signal, &before);
  int failed = 0;
  const RubyValue child = rb_protect(Fork, rb_mProcess, &failed);
  std::string text;
  if (failed != 0) {
    rb_set_errinfo(rb_eval_string_protect("nil", &failed));
  } else if (::getpid() != state->runner_pid) {
    LookAndTell(files, to);
  } else {
    to.reset();
    text = ReadFacts(from);
    int status = 0;
    const auto pid = static_cast<pid_t>(rb_num2long(child));
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text.clear();
    const struct timespec now = {};
    (void)::sigtimedwait(&child_signal, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return text;
}

// Starts Ruby as the program would have been started without a zygote.
[[noreturn]] void StartAnew(const RunnerProgram& program) {
  std::vector<char*> argv = {state->interpreter.data()};
  for (const char* argument : program.arguments) {
    argv.push_back(const_cast<char*>(argument));
  }
  argv.push_back(nullptr);
  ::execve(argv[0], argv.data(), environ);
  state->runner->Fail();
}

void SetEnvironment(const RunnerProgram& program) {
  ::clearenv();  // NOLINT(concurrency-mt-unsafe): one thread
  for (const char* entry : program.environment) {
    // putenv(3) keeps this pointer; the runner keeps the text.
    ::putenv(const_cast<char*>(entry));  // NOLINT(concurrency-mt-unsafe)
  }
}

// Ruby writes what a program assigns to $0 over its arguments, and takes what
// it finds here for those. Until 3.1 it looks for them after this, and later
// versions have looked before.
void OfferTitle() {
  const absl::Span<char> title = Title();
  if (title.empty()) return;
  char* rest = title.data() + std::strlen(title.data()) + 1;
  char* end = title.data() + title.size() - 2;
  if (rest >= end) return;
  std::memset(rest, ' ', static_cast<size_t>(end - rest));
  *end = 0;
  state->argv[0] = title.data();
  state->argv[1] = rest;
  ruby_init_setproctitle(2, state->argv.data());
}

// Returns when Ruby can continue with the program's file.
void BecomeRunner() {
  Runner& runner = *state->runner;
  state->runner_pid = ::getpid();
  runner.Begin(SetupStep::kRehearse);
  int failed = 0;
  if (!runner.in_haste()) {
    rb_protect(Rehearse, state->script, &failed);
    if (failed != 0) LogError();
  }
  runner.AnnounceReady();

  const RunnerProgram* program = new RunnerProgram(runner.ReceiveJob());
  if (program->to_look_at.empty()) {
    runner.AnnounceStart();
  } else {
    runner.ReportFacts(LookAt(program->to_look_at));
    runner.AwaitLeave();
  }
  SetEnvironment(*program);
  // Ruby remembers the number of the placeholder's descriptor, which was
  // closed.
  os::Fd file(::open(state->program, O_RDONLY | O_CLOEXEC));
  if (!file.valid()) StartAnew(*program);
  if (file.get() == state->program_fd) {
    (void)file.release();
  } else if (::dup3(file.get(), state->program_fd, O_CLOEXEC) < 0) {
    runner.Fail();
  }
  file.reset();
  const RubyValue anew = rb_protect(Begin, state->script, &failed);
  if (failed != 0 || rb_num2long(anew) != 0) StartAnew(*program);
  ruby_set_argv(static_cast<int>(program->arguments.size()) - 1,
                const_cast<char**>(program->arguments.data()) + 1);
  OfferTitle();
  delete program;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (::on_exit(AtExit, nullptr) != 0) runner.Fail();
}

// Returns only in runners.
void Serve(RubyValue self) {
  int failed = 0;
  rb_protect(GetReady, self, &failed);
  if (failed != 0) {
    LogError();
    Die("not ready");
  }
  FindEventFds();
  if (!state->zygote.Prepare()) Die("the filters are malformed");
  while (state->zygote.Next()) {
    state->ordered = true;
    rb_protect(Fork, rb_mProcess, &failed);
    state->ordered = false;
    if (failed != 0) {
      LogError();
      Die("Process.fork failed");
    }
    if (state->runner != nullptr) {
      BecomeRunner();
      rb_gc_unregister_address(&state->script);
      rb_gc_unregister_address(&state->hook);
      return;
    }
  }
  ::_exit(0);
}

// Stands in for main.require until the hook comes, for Ruby itself requires
// some files before.
RubyValue Require(int count, RubyValue* arguments, RubyValue self) {
  const RubyValue difference =
      count == 1 ? rb_funcall(state->hook, rb_intern("<=>"), 1, arguments[0])
                 : self;
  if (difference != 1) {  // the Integer 0
    return rb_call_super(count, arguments);
  }
  Serve(self);
  return self;
}

// Makes a directory with a placeholder program in it, because Ruby opens its
// program before it comes here.
bool MakePlaceholder(const char* name) {
  if (!os::MountTmpfs(
          kWorkspace,
          {.bytes = 65536, .inodes = 8, .flags = os::kNoSuid | os::kNoDev}) ||
      ::chdir(kWorkspace) != 0) {
    return false;
  }
  const os::Fd file(::open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return file.valid() && os::WriteAll(file.get(), kPlaceholder);
}

// Splits `ruby main.rb SCRIPT FEATURE...`; false when the arguments look
// different.
bool ParseArguments(int argc, char** argv) {
  int script = 1;
  while (script < argc && std::strcmp(argv[script], kZygoteScript) != 0) {
    ++script;
  }
  if (script < 2 || script >= argc) return false;
  state->interpreter = argv[0];
  state->program = argv[script - 1];
  static char option[] = "-r";
  static char hook[sizeof(kHook)];
  std::memcpy(hook, kHook, sizeof(kHook));
  state->argv.assign(argv, argv + script);
  state->argv.insert(state->argv.begin() + 1, {option, hook});
  state->argv.push_back(nullptr);
  state->features.assign(argv + script + 1, argv + argc);
  return true;
}

}  // namespace
}  // namespace sandglass::sandbox

// ruby's main() calls this when the language is ready but none of its library
// in Ruby has been loaded.
SANDGLASS_INTERPOSED void* ruby_options(int argc, char** argv) {
  using namespace sandglass::sandbox;  // NOLINT(google-build-using-namespace)
  const auto next = Next(&ruby_options, "ruby_options");
  ::unsetenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): one thread
  state = new State();
  if (!ParseArguments(argc, argv)) Die("arguments without a script");
  if (!MakePlaceholder(state->program)) Die("no room for a program");
  int failed = 0;
  const RubyValue main = rb_eval_string_protect("self", &failed);
  if (failed != 0) Die("no main object");
  state->hook = rb_str_new_cstr(kHook);
  rb_gc_register_address(&state->hook);
  rb_gc_register_address(&state->script);
  rb_define_singleton_method(main, "require", Require, -1);
  return next(static_cast<int>(state->argv.size()) - 1, state->argv.data());
}

// Around this call Ruby does everything that a fork of itself needs.
SANDGLASS_INTERPOSED pid_t fork(void) {
  using namespace sandglass::sandbox;  // NOLINT(google-build-using-namespace)
  if (state == nullptr || !state->ordered) {
    static const auto next = Next(&fork, "fork");
    return next();
  }
  state->ordered = false;
  std::optional<Runner> runner = state->zygote.Fork();
  // Ruby only needs to see that this isn't the child.
  if (!runner.has_value()) return ::getpid();
  state->runner = new Runner(*std::move(runner));
  state->runner->EnterJail();
  state->runner->Begin(SetupStep::kForkHooks);
  RemakeEventFds();
  return 0;
}
