// Managed's native side.
#include <jni.h>

#include "cuda_user.h"

static CudaUser* user;
static uint32_t* result;

extern "C" {

JNIEXPORT jobject JNICALL Java_Managed_buffer(JNIEnv* environment, jclass) {
  user = new CudaUser;
  result = CudaUser::pinned();
  return environment->NewDirectByteBuffer(result, kBytes);
}

JNIEXPORT void JNICALL Java_Managed_computePinned(JNIEnv*, jclass, jint value) {
  user->use_on_this_thread();
  user->compute_pinned(result, static_cast<uint32_t>(value));
}

JNIEXPORT void JNICALL Java_Managed_compute(JNIEnv*, jclass, jint value) {
  user->use_on_this_thread();
  user->compute(result, static_cast<uint32_t>(value));
}
}
