"""The reader's model, and a service that runs while the page is read. The page's `./service` starts it on a free port, in the
background; requests to the page's address go there."""
import atexit
import os
import pathlib
import re
import signal
import urllib.request

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PAGE = "localhost:8080"

inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in ("ids", "mask")]
table = numpy_helper.from_array(np.arange(30000, dtype=np.float32)[:, None] / 7, "table")
axes = numpy_helper.from_array(np.array([2]), "axes")
nodes = [helper.make_node("Gather", ["table", "ids"], ["row"]), helper.make_node("Cast", ["mask"], ["float"], to=TensorProto.FLOAT),
         helper.make_node("Unsqueeze", ["float", "axes"], ["column"]), helper.make_node("Mul", ["row", "column"], ["hidden"])]
output = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "sequence", 1])
onnx.save(helper.make_model(helper.make_graph(nodes, "model", inputs, [output], [table, axes]), ir_version=8,
                            opset_imports=[helper.make_opsetid("", 17)]), "model.onnx")
np.savez("inputs.npz", ids=np.array([[101, 2023, 102]]), mask=np.array([[1, 1, 1]]))

# It ends by itself should this process be killed. The block ends when the model is ready, or fails when the service has ended.
pathlib.Path("service").write_text("""#!/bin/sh
timeout 300 "$TAILOR_DOCS_SERVICE" -address 127.0.0.1:0 "$@" > service.log 2>&1 &
echo $! > service.pid
while ! grep "ready after" service.log; do
  kill -0 $! || { cat service.log; exit 1; }
  sleep 0.05
done
""")
pathlib.Path("bin").mkdir()
pathlib.Path("bin/curl").write_text(f"""#!/bin/sh
url=$1
shift
address=$(sed -n 's|.*listening on http://||p' service.log)
exec /usr/bin/curl --fail-with-body --silent --show-error "$(echo "$url" | sed "s|^{PAGE}|$address|")" "$@"
""")
for program in ("service", "bin/curl"):
    os.chmod(program, 0o755)
os.environ["PATH"] = f"{os.getcwd()}/bin:{os.environ['PATH']}"


def open_at_the_port(request, open_url=urllib.request.urlopen):
    address = re.search("listening on http://(.*)", pathlib.Path("service.log").read_text())[1]
    request.full_url = request.full_url.replace(PAGE, address)
    return open_url(request)


urllib.request.urlopen = open_at_the_port


@atexit.register
def end_service():
    if (process := pathlib.Path("service.pid")).exists():
        os.kill(int(process.read_text()), signal.SIGTERM)
