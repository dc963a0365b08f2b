// What the zygote's native library does in a child, without any jail: calls the
// Python half with no Python frame beneath. Loaded by compare.py.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

static void Stop(const char* step) {
  fprintf(stderr, "stand_in: %s failed\n", step);
  PyErr_Print();
  _exit(250);
}

// Never returns. To be called in a process of its own.
void RunProgram(PyObject* rehearse, PyObject* prepare, PyObject* finish,
                PyObject* argv, PyObject* env) {
  // The first state of an interpreter can't be used twice, so another one has
  // to be there while it goes; and only a state made after it went is the one
  // that PyGILState_Ensure() finds.
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

  PyObject* done = PyObject_CallNoArgs(rehearse);
  if (done == NULL) Stop("rehearse");
  Py_DECREF(done);
  PyObject* exception = NULL;
  PyObject* begin = PyObject_CallFunctionObjArgs(prepare, argv, env, NULL);
  PyObject* prepared = begin == NULL ? NULL : PyObject_CallNoArgs(begin);
  Py_XDECREF(begin);
  if (prepared != NULL) {
    PyObject* code = Py_NewRef(PyTuple_GET_ITEM(prepared, 0));
    PyObject* names = Py_NewRef(PyTuple_GET_ITEM(prepared, 1));
    Py_DECREF(prepared);
    PyObject* result = PyEval_EvalCode(code, names, names);
    Py_DECREF(code);
    Py_DECREF(names);
    Py_XDECREF(result);
  }
  PyEval_SetTrace(NULL, NULL);
  PyEval_SetProfile(NULL, NULL);
  if (PyErr_Occurred()) {
    PyObject *type, *trace;
    PyErr_Fetch(&type, &exception, &trace);
    PyErr_NormalizeException(&type, &exception, &trace);
    if (trace != NULL) PyException_SetTraceback(exception, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
  } else {
    exception = Py_NewRef(Py_None);
  }
  // In a list, which gives the last reference away.
  PyObject* holder = PyList_New(0);
  if (exception != Py_None) PyList_Append(holder, exception);
  Py_DECREF(exception);
  PyObject* code = PyObject_CallOneArg(finish, holder);
  if (code == NULL) Stop("finish");
  _exit((int)PyLong_AsLong(code));
}
