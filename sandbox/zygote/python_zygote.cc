// sandglass-zygote-python.so: the library that a zygote of CPython loads with
// ctypes.PyDLL. It needs no header of Python: it declares those public
// functions of the C interface (https://docs.python.org/3/c-api/) that it calls
// and the interpreter exports. Tested with 3.11, 3.13 and 3.14.
#include <sys/resource.h>
#include <unistd.h>

#include "sandbox/zygote/zygote.h"

extern "C" {
struct PyObject;
struct PyThreadState;
struct PyInterpreterState;

void PyOS_BeforeFork(void);
void PyOS_AfterFork_Parent(void);
void PyOS_AfterFork_Child(void);
PyInterpreterState* PyInterpreterState_Get(void);
PyThreadState* PyThreadState_New(PyInterpreterState*);
PyThreadState* PyThreadState_Swap(PyThreadState*);
PyObject* PyObject_CallObject(PyObject* callable, PyObject* arguments);
PyObject* PyTuple_New(ssize_t size);
int PyTuple_SetItem(PyObject* tuple, ssize_t at, PyObject* stolen);
PyObject* PyTuple_GetItem(PyObject* tuple, ssize_t at);
PyObject* PyBool_FromLong(long value);
PyObject* PyList_New(ssize_t size);
int PyList_SetItem(PyObject* list, ssize_t at, PyObject* stolen);
PyObject* PyBytes_FromString(const char* text);
PyObject* PyBytes_FromStringAndSize(const char* text, ssize_t size);
PyObject* PyEval_EvalCode(PyObject* code, PyObject* globals, PyObject* locals);
long PyLong_AsLong(PyObject* number);
void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);
void PyErr_Fetch(PyObject** type, PyObject** value, PyObject** traceback);
void PyErr_NormalizeException(PyObject** type, PyObject** value,
                              PyObject** traceback);
int PyException_SetTraceback(PyObject* exception, PyObject* traceback);
void PyErr_Print(void);
void PyErr_Clear(void);
int PyBytes_AsStringAndSize(PyObject* bytes, char** data, ssize_t* size);
void PyEval_SetTrace(void*, PyObject*);
void PyEval_SetProfile(void*, PyObject*);
PyThreadState* PyThreadState_Get(void);
void PyThreadState_Clear(PyThreadState*);
void PyThreadState_Delete(PyThreadState*);
}

namespace sandglass::sandbox {
namespace {

// Listing all objects takes at most an eighth of this.
constexpr long kMuchKib = 16 * 1024;

// The largest resident size so far, in KiB.
long PeakKib() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

struct Script {
  PyObject* rehearse;
  PyObject* look;
  PyObject* prepare;
  PyObject* finish;
};

// Makes a new list of bytes objects.
PyObject* ToList(const std::vector<const char*>& strings) {
  PyObject* list = PyList_New(static_cast<ssize_t>(strings.size()));
  for (size_t i = 0; i < strings.size(); ++i) {
    PyList_SetItem(list, static_cast<ssize_t>(i),
                   PyBytes_FromString(strings[i]));
  }
  return list;
}

// Has the script examine the files and sends the result to the daemon, which
// then decides. If anything fails here, the daemon gets no facts.
void LookAt(Runner& runner, const Script& script,
            const std::vector<RunnerJobBody::File>& files) {
  PyObject* list = PyList_New(static_cast<ssize_t>(files.size()));
  for (size_t i = 0; i < files.size(); ++i) {
    PyObject* pair = PyTuple_New(2);
    PyTuple_SetItem(pair, 0, PyBytes_FromString(files[i].path));
    PyTuple_SetItem(pair, 1,
                    PyBytes_FromStringAndSize(
                        files[i].content.data(),
                        static_cast<ssize_t>(files[i].content.size())));
    PyList_SetItem(list, static_cast<ssize_t>(i), pair);
  }
  PyObject* arguments = PyTuple_New(1);
  PyTuple_SetItem(arguments, 0, list);
  PyObject* facts = PyObject_CallObject(script.look, arguments);
  Py_DecRef(arguments);
  char* text = nullptr;
  ssize_t size = 0;
  if (facts == nullptr || PyBytes_AsStringAndSize(facts, &text, &size) != 0) {
    PyErr_Clear();
    size = 0;
  }
  runner.ReportFacts({text, static_cast<size_t>(size)});
  if (facts != nullptr) Py_DecRef(facts);
}

// Takes the current exception, with its traceback, and returns it in a list
// that holds the only reference; the list is empty when there is no exception.
PyObject* FetchException() {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return PyList_New(0);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_DecRef(type);
  if (traceback != nullptr) Py_DecRef(traceback);
  PyObject* list = PyList_New(1);
  PyList_SetItem(list, 0, value);
  return list;
}

// A thread state of its own has no frames on it, so that the program's frame
// will be at the bottom of the stack. An interpreter's first state can't be
// used twice, so there must be another one while it is deleted; and
// PyGILState_Ensure only finds a state that was made when no other was left.
void StartOnCleanStack() {
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  PyThreadState* old = PyThreadState_Get();
  PyThreadState* between = PyThreadState_New(interpreter);
  PyThreadState_Clear(old);
  PyThreadState_Swap(between);
  PyThreadState_Delete(old);
  PyThreadState* fresh = PyThreadState_New(interpreter);
  PyThreadState_Clear(between);
  PyThreadState_Swap(fresh);
  PyThreadState_Delete(between);
}

// From here on nothing of the zygote is on the interpreter's stack.
[[noreturn]] void Run(Runner& runner, const Script& script) {
  runner.Begin(SetupStep::kRehearse);
  PyObject* arguments = PyTuple_New(1);
  PyTuple_SetItem(arguments, 0, PyBool_FromLong(runner.in_haste() ? 0 : 1));
  PyObject* done = PyObject_CallObject(script.rehearse, arguments);
  Py_DecRef(arguments);
  if (done != nullptr) {
    Py_DecRef(done);
  } else {
    PyErr_Print();  // to the zygote's log; the program's streams come after
  }
  runner.AnnounceReady();

  const RunnerProgram program = runner.ReceiveJob();
  const bool is_looked_at = !program.to_look_at.empty();
  if (is_looked_at) LookAt(runner, script, program.to_look_at);
  const long before = PeakKib();
  // While the daemon decides, the preparation goes on; otherwise its time
  // counts as the program's.
  if (!is_looked_at) runner.AnnounceStart();
  // With the file's content there is no need to look for that file, or for
  // others.
  arguments = PyTuple_New(program.sole_file ? 3 : 2);
  PyTuple_SetItem(arguments, 0, ToList(program.arguments));
  PyTuple_SetItem(arguments, 1, ToList(program.environment));
  if (program.sole_file) {
    PyTuple_SetItem(arguments, 2,
                    PyBytes_FromStringAndSize(
                        program.sole_file->data(),
                        static_cast<ssize_t>(program.sole_file->size())));
  }
  PyObject* begin = PyObject_CallObject(script.prepare, arguments);
  Py_DecRef(arguments);
  if (is_looked_at) runner.AwaitLeave();
  PyObject* prepared =
      begin == nullptr ? nullptr : PyObject_CallObject(begin, nullptr);
  if (begin != nullptr) Py_DecRef(begin);
  if (prepared != nullptr) {
    PyObject* names = PyTuple_GetItem(prepared, 1);
    PyObject* value =
        PyEval_EvalCode(PyTuple_GetItem(prepared, 0), names, names);
    if (value != nullptr) Py_DecRef(value);
    // The program's own trace function would be called for what follows.
    PyEval_SetTrace(nullptr, nullptr);
    PyEval_SetProfile(nullptr, nullptr);
  }
  PyObject* raised = FetchException();
  // A program can notice when the last reference to one of its objects goes.
  if (prepared != nullptr) Py_DecRef(prepared);
  arguments = PyTuple_New(2);
  PyTuple_SetItem(arguments, 0, raised);
  PyTuple_SetItem(arguments, 1, PyBool_FromLong(PeakKib() - before > kMuchKib));
  PyObject* code = PyObject_CallObject(script.finish, arguments);
  if (code == nullptr) {
    // Standard error is the program's, and the fault is ours.
    PyErr_Clear();
    runner.Finish(1);
  }
  runner.Finish(static_cast<int>(PyLong_AsLong(code)));
}

}  // namespace
}  // namespace sandglass::sandbox

// Forks a runner for each order of the spawner. Returns only in the zygote,
// when the spawner doesn't need it any more: 0, or 1 when it could not begin.
// Call it with the interpreter's lock, from the interpreter's only thread.
extern "C" __attribute__((visibility("default"))) int sandglass_serve(
    PyObject* rehearse, PyObject* look, PyObject* prepare, PyObject* finish) {
  using sandglass::sandbox::Runner;
  const sandglass::sandbox::Script script = {rehearse, look, prepare, finish};
  for (PyObject* function : {rehearse, look, prepare, finish}) {
    Py_IncRef(function);
  }
  sandglass::sandbox::Zygote zygote;
  if (!zygote.Prepare()) return 1;
  while (zygote.Next()) {
    PyOS_BeforeFork();
    std::optional<Runner> runner = zygote.Fork();
    if (!runner.has_value()) {
      PyOS_AfterFork_Parent();
      continue;
    }
    runner->EnterJail();
    runner->Begin(sandglass::sandbox::SetupStep::kForkHooks);
    PyOS_AfterFork_Child();
    sandglass::sandbox::StartOnCleanStack();
    sandglass::sandbox::Run(*runner, script);
  }
  return 0;
}
