// The exported functions of streams, and of what orders their work: events and host functions.
#include <thread>

#include "tests/emulator/fake_calls.h"

namespace tailor::fake_cuda {

thread_local FakeDevice* current = nullptr;

cuda::Result CheckStream(FakeStream* stream) {
  if (state().broken != cuda::kSuccess) return state().broken;
  if (current == nullptr) return cuda::kInvalidContext;
  if (state().streams.count(stream) == 0) return cuda::kInvalidHandle;
  return stream->device == current ? cuda::kSuccess : cuda::kInvalidContext;
}

}  // namespace tailor::fake_cuda

using namespace tailor;
using namespace tailor::cuda;
using namespace tailor::fake_cuda;

namespace {

FakeEvent* EventOf(Event event) { return reinterpret_cast<FakeEvent*>(event); }

// Runs the work before the mark.
void PassMark(const FakeEvent::Mark& mark) {
  while (!mark.passed && state().broken == kSuccess) state().Step(mark.stream);
}

}  // namespace

extern "C" {

Result cuStreamCreate(Stream* stream, unsigned) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kInvalidContext;
  auto* made = new FakeStream{current, {}};
  state().streams.insert(made);
  *stream = reinterpret_cast<Stream>(made);
  return kSuccess;
}

Result cuStreamDestroy_v2(Stream stream) {
  const Lock lock(state().mutex);
  state().Finish(StreamOf(stream));
  if (state().streams.erase(StreamOf(stream)) == 0) return kInvalidHandle;
  delete StreamOf(stream);
  return kSuccess;
}

Result cuStreamSynchronize(Stream stream) {
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  return state().Finish(StreamOf(stream));
}

Result cuStreamGetCtx(Stream stream, Context* context) {
  const Lock lock(state().mutex);
  if (state().streams.count(StreamOf(stream)) == 0) return kInvalidHandle;
  *context = reinterpret_cast<Context>(StreamOf(stream)->device);
  return kSuccess;
}

Result cuCtxSynchronize() {
  const Lock lock(state().mutex);
  return current == nullptr ? kInvalidContext : state().Finish(nullptr);
}

Result cuStreamQuery(Stream stream) {
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  return StreamOf(stream)->work.empty() ? kSuccess : kNotReady;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned flags) {
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  if (flags != 0 || state().events.count(EventOf(event)) == 0) return kInvalidValue;
  state().Enqueue(StreamOf(stream), [mark = EventOf(event)->mark] { PassMark(*mark); });
  return kSuccess;
}

Result cuLaunchHostFunc(Stream stream, HostFunction function, void* user) {
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  state().Enqueue(StreamOf(stream), [=] { std::thread(function, user).join(); });
  return kSuccess;
}

Result cuEventCreate(Event* event, unsigned) {
  const Lock lock(state().mutex);
  if (current == nullptr) return kInvalidContext;
  auto* made = new FakeEvent{current, std::make_shared<FakeEvent::Mark>()};
  state().events.insert(made);
  *event = reinterpret_cast<Event>(made);
  return kSuccess;
}

Result cuEventDestroy_v2(Event event) {
  const Lock lock(state().mutex);
  if (state().events.erase(EventOf(event)) == 0) return kInvalidHandle;
  delete EventOf(event);
  return kSuccess;
}

Result cuEventRecord(Event event, Stream stream) {
  const Lock lock(state().mutex);
  if (Result bad = CheckStream(StreamOf(stream)); bad != kSuccess) return bad;
  if (state().events.count(EventOf(event)) == 0 || EventOf(event)->device != current) return kInvalidHandle;
  EventOf(event)->mark = std::make_shared<FakeEvent::Mark>(FakeEvent::Mark{StreamOf(stream), false});
  state().Enqueue(StreamOf(stream), [mark = EventOf(event)->mark] { mark->passed = true; });
  return kSuccess;
}

Result cuEventQuery(Event event) {
  const Lock lock(state().mutex);
  if (state().events.count(EventOf(event)) == 0) return kInvalidHandle;
  return EventOf(event)->mark->passed ? kSuccess : kNotReady;
}

Result cuEventSynchronize(Event event) {
  const Lock lock(state().mutex);
  if (state().events.count(EventOf(event)) == 0) return kInvalidHandle;
  const auto mark = EventOf(event)->mark;
  PassMark(*mark);
  return state().broken;
}

}  // extern "C"
