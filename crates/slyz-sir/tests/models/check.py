"""Runs the models of a list and says of each, on a line that begins with `= `, what came of it.

OpenVINO runs its models on the CPU. Core ML runs on Apple's machines only: elsewhere a package is loaded, its program goes through
coremltools' own type inference, and, with the arguments as constants in it, through its value inference; what that leaves open is not
compared. coremltools computes no `conv`, so that is done here.
"""
import io
import os
import re
import sys
import contextlib
import warnings

warnings.filterwarnings("ignore")
import logging

logging.disable(logging.CRITICAL)
import numpy as np

folder = sys.argv[1]
NUMPY = {"bool": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}
for width in (8, 16, 32, 64):
    NUMPY[f"i{width}"] = getattr(np, f"int{width}")
    NUMPY[f"u{width}"] = getattr(np, f"uint{width}")


def array(words):
    name, ty, shape = words
    shape = [] if shape == "-" else [int(n) for n in shape.split(",")]
    return np.fromfile(os.path.join(folder, name), dtype=NUMPY[ty]).reshape(shape)


def models():
    found = []
    for line in open(os.path.join(folder, "list")):
        kind, *words = line.split()
        if kind == "model":
            found.append((words[0], os.path.join(folder, words[1]), [], []))
        else:
            found[-1][2 if kind == "input" else 3].append(array(words))
    return found


def compare(results, expected):
    for number, (found, wanted) in enumerate(zip(results, expected)):
        found = np.asarray(found)
        if list(found.shape) != list(wanted.shape):
            return f"differs: result {number} has the shape {list(found.shape)}, not {list(wanted.shape)}"
        if wanted.dtype.kind == "f":
            near = 2e-3 if wanted.dtype == np.float16 else 2e-5
            right = np.isclose(found.astype(np.float64), wanted.astype(np.float64), rtol=near, atol=near, equal_nan=True)
        else:
            right = found.astype(np.int64) == wanted.astype(np.int64)
        if not right.all():
            where = tuple(int(k) for k in np.argwhere(~right)[0]) if right.ndim else ()
            return f"differs: result {number} at {list(where)} is {found[where]}, not {wanted[where]}"
    return "ok"


def first_line(error):
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    told = [line for line in lines if "Check '" in line or "[" not in line] or lines or [type(error).__name__]
    return re.sub(r"/\S*/", "", told[0])[:160]


def openvino(core, path, inputs, expected):
    model = core.read_model(path)
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled(inputs)
    return compare([results[k] for k in range(len(expected))], expected)


def convolved(op):
    """What `conv` gives without padding, in one group, every window next to the last."""
    assert op.pad_type.val == "valid" and op.groups.val == 1 and (op.strides.val == 1).all() and (op.dilations.val == 1).all()
    data, weight = op.x.val, op.weight.val
    behind = tuple(range(2, data.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(data, weight.shape[2:], axis=behind)
    summed = (1,) + tuple(axis + len(behind) for axis in behind)
    sums = np.tensordot(windows, weight, axes=(summed, tuple(range(1, weight.ndim))))
    return np.moveaxis(sums, -1, 1).astype(data.dtype)


def infer_convolutions():
    from coremltools.converters.mil.mil.operation import VALUE, precondition
    from coremltools.converters.mil.mil.ops.defs.iOS17.conv import conv

    conv.value_inference = precondition(allow=VALUE)(convolved)


def coreml(ct, path, inputs, expected):
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.proto import MIL_pb2

    ct.models.MLModel(path, skip_model_load=True)
    spec = ct.models.utils.load_spec(path)
    load(spec, spec.specificationVersion, "").validate()
    known = MIL_pb2.Program()
    known.CopyFrom(spec.mlProgram)
    main = known.functions["main"]
    block = list(main.block_specializations.values())[0]
    names = {}
    for feature, value in zip(list(main.inputs), [np.atleast_1d(value) for value in inputs]):
        names[feature.name] = (feature, value)
    kept = list(block.operations)
    del main.inputs[:]
    del block.operations[:]
    for name, (feature, value) in names.items():
        op = block.operations.add(type="const")
        op.attributes["name"].type.tensorType.dataType = MIL_pb2.STRING
        op.attributes["name"].immediateValue.tensor.strings.values.append(name)
        out = op.outputs.add(name=name)
        out.type.CopyFrom(feature.type)
        tensor = out.type.tensorType
        del tensor.dimensions[:]
        tensor.rank = value.ndim
        for extent in value.shape:
            tensor.dimensions.add().constant.size = extent
        held = op.attributes["val"]
        held.type.CopyFrom(out.type)
        put = held.immediateValue.tensor
        if tensor.dataType == MIL_pb2.FLOAT16:
            put.bytes.values = value.astype(np.float16).tobytes()
        elif tensor.dataType == MIL_pb2.FLOAT32:
            put.floats.values.extend(value.astype(np.float32).ravel().tolist())
        elif tensor.dataType == MIL_pb2.BOOL:
            put.bools.values.extend(value.ravel().tolist())
        else:
            put.ints.values.extend(np.clip(value, -(2**31), 2**31 - 1).astype(np.int32).ravel().tolist())
    block.operations.extend(kept)
    spec.mlProgram.CopyFrom(known)
    try:
        program = load(spec, spec.specificationVersion, "")
    except Exception as error:
        return f"loads; values are not inferred: {first_line(error)}"
    results = [var.val for var in program.functions["main"].outputs]
    if any(value is None for value in results):
        return "loads"
    return compare(results, [np.atleast_1d(value) for value in expected])


def answer(core, ct, target, path, inputs, expected):
    try:
        with np.errstate(all="ignore"):
            if target == "openvino":
                return openvino(core, path, inputs, expected)
            return coreml(ct, path, inputs, expected)
    except Exception as error:
        if os.environ.get("SLYZ_MODELS_VERBOSE"):
            import traceback

            traceback.print_exc()
        return f"fails: {first_line(error)}"


def main():
    import openvino as ov

    with contextlib.redirect_stderr(io.StringIO()):
        import coremltools as ct
    infer_convolutions()
    waiting = models()
    done = 0
    # A model that ends the process does not take the others with it.
    while done < len(waiting):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            core = ov.Core()
            for model in waiting[done:]:
                os.write(write, (answer(core, ct, *model) + "\n").encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answers:
            for line in answers:
                print("= " + line.strip(), flush=True)
                done += 1
        _, status = os.waitpid(child, 0)
        if status != 0:
            print(f"= fails: ends the process, signal {status & 127}", flush=True)
            done += 1


main()
