"""The models of the wheels, with the inputs and shapes at which they are checked. Sizes of inputs follow the code in each wheel.

Keys of a model are those of manifest.json (tools/export_models/README.md) and:
  wheel, member: the file. Two models may share one.
  dims: {name: {"min": .., "max": ..} or integer}, fixed: {input: value}: what importing is told."""

AUDIO_16K = {"audio": 16000}
UNIT = {"uniform": [-1, 1]}


def entry(name, dtype, dims, values="normal"):
    return {"name": name, "dtype": dtype, "dims": list(dims), "values": values}


def shapes(names, *rows):
    return [dict(zip(names.split(), row)) for row in rows]


def silero(member, rates, sequence, rows, name="sequence", fixed=None):
    """A step of the detector: 512 samples at 16 kHz or 256 at 8 kHz behind 64 or 32 of context, and the LSTM's state."""
    inputs = [entry("input", "float32", ("batch", "samples"), {"audio": "rate"}),
              entry("state", "float32", (2, "batch", 128), UNIT)]
    if rates and not fixed:
        inputs.append(entry("sr", "int64", (), {"constant": "rate"}))
    return {"wheel": "silero_vad", "member": f"silero_vad/data/{member}.onnx", "inputs": inputs,
            "dims": {name: sequence} if sequence else {}, "fixed": fixed or {}, "shapes": shapes("batch samples rate", *rows)}


# The wheel's files take what their one frame of the LSTM holds: at 16 kHz 192 to 703 samples, at 8 kHz 96 to 351. Each rate
# has its branch, which checks that.
ROWS_16K = ((1, 576, 16000), (1, 512, 16000), (2, 576, 16000), (3, 293, 16000), (1, 703, 16000), (5, 256, 16000))
ROWS_8K = ((1, 288, 8000), (1, 256, 8000), (2, 288, 8000), (3, 129, 8000), (1, 351, 8000))
LONG_ROWS = ((1, 576, 16000), (1, 288, 8000), (2, 1088, 16000), (3, 1000, 8000), (1, 8000, 16000), (2, 4001, 8000))
STEP_16K, STEP_8K = {"min": 192, "max": 703}, {"min": 96, "max": 351}


def ocr(member, x, rows, wheel="rapidocr_onnxruntime", **options):
    return {"wheel": wheel, "member": f"{wheel}/models/{member}.onnx",
            "inputs": [entry("x", "float32", x, {"image": [-1, 1]})], "shapes": shapes("batch height width", *rows), **options}


def features(member, *rates):
    """Waveforms of `samples` each, all valid; resamplers also take the rate."""
    inputs = [entry("waveforms", "float32", ("batch", "samples"), AUDIO_16K),
              entry("waveforms_lens", "int64", ("batch",), {"constant": "samples"})]
    if rates:
        inputs.append(entry("sample_rate", "int64", (), {"constant": "rate"}))
    rows = ((1, 16000), (3, 48000), (2, 23999), (1, 9001))
    return {"wheel": "onnx_asr", "member": f"onnx_asr/preprocessors/{member}.onnx", "inputs": inputs,
            "shapes": shapes("batch samples rate", *(row + (rate,) for row, rate in zip(rows, rates or (0,) * 4)))}


IMAGES = ("batch", 3, "height", "width")

MODELS = {
    "silero_vad": silero("silero_vad", True, None, ROWS_16K[1:4] + ROWS_8K[:1] + ROWS_8K[2:]),
    "silero_vad_16k": silero("silero_vad", True, STEP_16K, ROWS_16K, "input_dim1", {"sr": 16000}),
    "silero_vad_8k": silero("silero_vad", True, STEP_8K, ROWS_8K, "input_dim1", {"sr": 8000}),
    "silero_vad_16k_op15": silero("silero_vad_16k_op15", True, STEP_16K, ROWS_16K),
    "silero_vad_half": silero("silero_vad_half", False, STEP_16K, ROWS_16K),
    "silero_vad_op18_ifless": silero("silero_vad_op18_ifless", True, None, LONG_ROWS),
    "silero_vad_openvino_16k": silero("silero_vad_openvino_16k", False, None, ((1, 576, 16000),) * 3),
    "silero_vad_16k_sequence": {
        "wheel": "silero_vad", "member": "silero_vad/data/silero_vad_16k_sequence.onnx",
        "inputs": [entry("input", "float32", ("frames", 576), AUDIO_16K), entry("h", "float32", (1, 1, 128), UNIT),
                   entry("c", "float32", (1, 1, 128), UNIT)],
        "shapes": shapes("frames", (1,), (2,), (17,), (64,), (301,), (512,))},
    "swift_f0": {
        "wheel": "swift_f0", "member": "swift_f0/model.onnx",
        "inputs": [entry("audio", "float32", (1, "samples"), AUDIO_16K), entry("fmin", "float32", (), {"constant": "fmin"}),
                   entry("fmax", "float32", (), {"constant": "fmax"})],
        "shapes": shapes("samples fmin fmax", (256, 46.875, 2093.75), (1, 46.875, 2093.75), (4000, 65.0, 400.0),
                         (16000, 46.875, 2093.75), (16001, 80.0, 1000.0), (48123, 46.875, 2093.75))},
    "basic_pitch": {
        "wheel": "basic_pitch", "member": "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        "inputs": [entry("serving_default_input_2:0", "float32", ("batch", 43844, 1), {"audio": 22050})],
        "shapes": shapes("batch", (1,), (2,), (3,), (5,))},
    "nudenet": {
        "wheel": "nudenet", "member": "nudenet/320n.onnx",
        "inputs": [entry("images", "float32", IMAGES, {"image": [0, 1]})],
        "shapes": shapes("batch height width", (1, 320, 320), (2, 320, 320), (1, 256, 416), (2, 192, 160), (1, 640, 480))},
    "ppocr_det": ocr("ch_PP-OCRv4_det_infer", IMAGES,
                     ((1, 736, 736), (1, 736, 992), (2, 96, 160), (1, 320, 32), (2, 352, 480))),
    "ppocr_rec": ocr("ch_PP-OCRv4_rec_infer", ("batch", 3, 48, "width"),
                     [(batch, 48, width) for batch, width in ((1, 320), (6, 320), (2, 333), (1, 48), (3, 641), (1, 1201))],
                     tolerance=3e-4),
    "ppocr_cls": ocr("ch_ppocr_mobile_v2.0_cls_infer", IMAGES,
                     ((1, 48, 192), (6, 48, 192), (2, 48, 101), (1, 33, 77), (3, 64, 256))),
    "ppocr_v6_det": ocr("PP-OCRv6_det_small", IMAGES, ((1, 480, 640), (2, 96, 160), (1, 320, 32), (1, 736, 992)), "rapidocr"),
    "ppocr_v6_rec": ocr("PP-OCRv6_rec_small", ("batch", 3, 48, "width"),
                        [(batch, 48, width) for batch, width in ((1, 320), (6, 320), (2, 333), (3, 641))], "rapidocr"),
    "slanet_plus": {
        "wheel": "magic_pdf", "member": "magic_pdf/resources/slanet_plus/slanet-plus.onnx",
        "inputs": [entry("x", "float32", IMAGES, {"image": [-1, 1]})],
        "shapes": shapes("batch height width", (1, 488, 488), (2, 488, 488), (1, 256, 320))},
    "onnx_asr_resample": features("resample16", 8000, 48000, 44100, 16000),
    "onnx_asr_kaldi": features("kaldi"),
    "onnx_asr_nemo": features("nemo80"),
    "onnx_asr_whisper": features("whisper80"),
    "onnx_asr_gigaam": features("gigaam_v2"),
    "aecmos": {
        "wheel": "speechmos", "member": "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx",
        "inputs": [entry("input", "float32", (1, 3, "frames", 160)), entry("h0", "float32", (4, 1, 64), "zeros")],
        "shapes": shapes("frames", (100,), (333,), (41,))},
    "plcmos": {
        "wheel": "speechmos", "member": "speechmos/plcmos_models/plcmos_v2.onnx",
        "inputs": [entry("degraded_audio", "float32", (1, 1, "frames", 257)), entry("rater_embed", "float32", (1, 64))],
        "shapes": shapes("frames", (50,), (201,), (333,))},
    "dnsmos": {
        "wheel": "speechmos", "member": "speechmos/dnsmos_models/sig_bak_ovr.onnx",
        "inputs": [entry("input_1", "float32", ("batch", 144160), AUDIO_16K)],
        "shapes": shapes("batch", (1,), (2,), (3,))},
    "smart_turn": {
        "wheel": "pipecat_ai", "member": "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        "inputs": [entry("input_features", "float32", ("batch", 80, 800))], "shapes": shapes("batch", (1,), (2,), (3,)),
        "tolerance": 5e-3},
    "magika": {
        "wheel": "magika", "member": "magika/models/standard_v3_3/model.onnx",
        "inputs": [entry("bytes", "int32", ("batch", 2048), 256)], "shapes": shapes("batch", (1,), (2,), (9,))},
}
