package tailor

/*
#include <stdlib.h>
#include "tailor/runtime.h"

// From `data`, or if that is NULL from the file `path`.
static tailor_status* load(const tailor_runtime* runtime, const char* path, const void* data, size_t size,
                           int32_t device, int32_t ordinal, const char* target, int32_t verify, int32_t copy,
                           const uint8_t* public_key, const char* cost_profile, tailor_executable** out) {
	tailor_load_options options;
	tailor_load_options_init(&options);
	options.device = device;
	options.device_ordinal = ordinal;
	options.target = target;
	options.verify_constants = verify;
	options.copy_constants = copy;
	options.public_key = public_key;
	options.cost_profile = cost_profile;
	options.cost_profile_size = SIZE_MAX;
	if (data == NULL) return tailor_executable_load(runtime, path, SIZE_MAX, &options, out);
	return tailor_executable_load_memory(runtime, data, size, &options, NULL, NULL, out);
}
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// LoadOptions are the options of loading an artifact.
type LoadOptions struct {
	// Runtime that loads it, for its custom operators; nil: one of its own.
	Runtime *Runtime
	// Device to run on; FailedPrecondition if the machine lacks it.
	Device Device
	// Target forces a variant by its name, "x86-64-v2"; empty: the best that this machine runs.
	Target string
	// VerifyConstants hashes the constants too.
	VerifyConstants bool
	// CopyConstants reads constants into memory instead of mapping the file.
	CopyConstants bool
	// PublicKey, 32 bytes (Ed25519): artifacts must be signed with its secret key; constants are then verified and
	// copied.
	PublicKey []byte
	// CostProfile is the text of a profile of this machine, by which matmuls then choose their tiling.
	CostProfile string
}

// Load reads an artifact for the CPU. Artifacts are native code: load only artifacts that you trust.
func Load(path string) (*Executable, error) { return LoadWith(path, LoadOptions{}) }

// LoadWith is Load with options.
func LoadWith(path string, options LoadOptions) (*Executable, error) {
	return loadArtifact(path, nil, options)
}

// LoadBytes loads an artifact's bytes, as Load does a file's. They are copied.
func LoadBytes(artifact []byte) (*Executable, error) { return LoadBytesWith(artifact, LoadOptions{}) }

// LoadBytesWith is LoadBytes with options.
func LoadBytesWith(artifact []byte, options LoadOptions) (*Executable, error) {
	if len(artifact) == 0 {
		return nil, &Error{DataLoss, "the artifact has no bytes", ""}
	}
	return loadArtifact("", artifact, options)
}

func loadArtifact(path string, artifact []byte, options LoadOptions) (*Executable, error) {
	for what, text := range map[string]string{"path": path, "target": options.Target, "cost profile": options.CostProfile} {
		if strings.IndexByte(text, 0) >= 0 {
			return nil, &Error{InvalidArgument, "the " + what + " holds a NUL", ""}
		}
	}
	kind, ordinal, err := options.Device.Numbers()
	if err != nil {
		return nil, err
	}
	key, err := bytesOfKey(options.PublicKey)
	if err != nil {
		return nil, err
	}
	var data unsafe.Pointer
	if len(artifact) > 0 {
		data = unsafe.Pointer(&artifact[0])
	}
	name, target, profile := C.CString(path), cStringOrNull(options.Target), cStringOrNull(options.CostProfile)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(target))
	defer C.free(unsafe.Pointer(profile))
	var handle *C.tailor_executable
	if err := options.Runtime.With(func(runtime unsafe.Pointer) error {
		return check(C.load((*C.tailor_runtime)(runtime), name, data, C.size_t(len(artifact)), C.int32_t(kind),
			C.int32_t(ordinal), target, truth(options.VerifyConstants), truth(options.CopyConstants), key,
			profile, &handle))
	}); err != nil {
		return nil, err
	}
	return FromC(unsafe.Pointer(handle)), nil
}

func bytesOfKey(key []byte) (*C.uint8_t, error) {
	if len(key) == 0 {
		return nil, nil
	}
	if len(key) != 32 {
		return nil, &Error{InvalidArgument, fmt.Sprintf("the public key has %d bytes, not 32", len(key)), ""}
	}
	return (*C.uint8_t)(unsafe.Pointer(&key[0])), nil
}

func cStringOrNull(text string) *C.char {
	if text == "" {
		return nil
	}
	return C.CString(text)
}
