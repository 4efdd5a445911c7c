#include "simulate/labelled_log.h"

namespace telltale::simulate {

namespace {

// Statements of other programs that run beside engines (Megatron, DeepSpeed, Ray, Triton, Slurm,
// network drivers, agents). Written when most rules of the template miner were there: what it does
// with statements that no rule was made for. Not wholly so: a rule for names with values side by
// side was mended for what was seen here, and three rules were made for engines' statements after
// this was measured. Whoever makes a rule for what is found here writes new statements.
constexpr std::string_view kStatements[] = {
    // Training
    "iteration {int}/ {int} | consumed samples: {int} | elapsed time per iteration (ms): {float} | "
    "learning rate: {exponent} | global batch size: {int} | lm loss: {exponent} | grad norm: "
    "{float} "
    "| number of skipped iterations: {small} |",
    "validation loss at iteration {int} | lm loss value: {exponent} | lm loss PPL: {exponent}",
    "saving checkpoint at iteration {int} to {path} in torch_dist format",
    "successfully saved checkpoint from iteration {int} to {path}",
    "loading checkpoint from {path} at iteration {int}",
    "could not find arguments in the checkpoint ...",
    "rank={small} time (ms) | fwd: {float} | bwd: {float} | bwd_inner: {float} | step: {float}",
    "step={int}, skipped={small}, lr=[{exponent}], mom=[[{float}, {float}]]",
    "Overflow detected. Skipping step. Attempted loss scale: {int}, reducing to {int}",
    "Loading extension module {function}...",
    "Time to load {function} op: {float} seconds",
    "number of parameters on (tensor, pipeline) model parallel rank ({small}, {small}): {int}",
    "Setting ds_accelerator to {backend} (auto detect)",
    "Detected CUDA files, patching ldflags",
    // Ray, Slurm and agents
    "Started a local Ray instance. View the dashboard at {ipport}",
    "Connecting to existing Ray cluster at address: {ipport}...",
    "Connected to Ray cluster. View the dashboard at {ipport}",
    "Node {uuid} is dead, reason: {words}",
    "Worker process {int} exited with code {signed}[, signal: {int}], after {float} s",
    "Actor {class} restarted {small} times",
    "task {small} launched on {host}",
    "task {small} killed on {host}",
    "error: Node {host} not responding",
    "error: Node {host} has low real_memory size ({int} < {int})",
    "slurmstepd: error: *** JOB {int} ON {host} CANCELLED AT {date} DUE TO {reason} ***",
    "slurmstepd: error: *** STEP {int}.{small} ON {host} CANCELLED AT {date} ***",
    "Liveness probe failed: {probe}",
    "Readiness probe failed: {probe}",
    "Pulling image {image}",
    "Successfully pulled image {image} in {float}s ({float}s including waiting)",
    "Allocated GPU {uuid} to pod {host}",
    "Released GPU {uuid} from pod {host}",
    // Servers
    "Model {model} loaded in {float} s (version {small}, instances {small})",
    "Model {model} unloaded in {float} s",
    "TRITONBACKEND_ModelInstanceInitialize: {function}_{small}_{small} (GPU device {small})",
    "successfully loaded '{function}'",
    "failed to load '{function}' version {small}: {words}",
    "[TensorRT-LLM] MPI size: {small}, rank: {small}",
    "[MemUsageChange] Allocated {float} GiB for max tokens in paged KV cache ({int}).",
    "[MemUsageChange] Init CUDA: CPU {signed}, GPU {signed}, now: CPU {int}, GPU {int} (MiB)",
    "Engine load time {int} ms",
    "Engine version {version} found in the config file, assuming engine(s) built by {program}",
    "Max KV cache pages per sequence: {int}",
    "request_id={hex32} status={status_word} prompt_tokens={int} completion_tokens={int} "
    "latency_ms={float}[, retries={small}]",
    "slow request {hex32}: queue {float} ms, prefill {float} ms, decode {float} ms",
    // Drivers
    "mlx5_core {pci}.{small}: Port module event: module {small}, Cable {cable}",
    "mlx5_core {pci}.{small} {interface}: Link up",
    "mlx5_core {pci}.{small} {interface}: Link down",
    "mlx5_core {pci}.{small}: temp_warn: High temperature on sensors with bit set {hex} {hex}",
    "{interface}: NIC Link is Up, {int} Gbps",
    "{interface}: NIC Link is Down",
    "pcieport {pci}.{small}: AER: Corrected error received: {pci}.{small}",
    "pcieport {pci}.{small}: AER: Uncorrected (Non-Fatal) error received: {pci}.{small}",
    "nvidia {pci}.{small}: PCIe Bus Error: severity=Corrected, type={layer}, (Receiver ID)",
    "EDAC MC{small}: {small} CE memory read error on CPU_SrcID#{small}_MC#{small}_Chan#{small}",
    "CPU{small}: Package temperature above threshold, cpu clock throttled (total events = {int})",
    "CPU{small}: Package temperature/speed normal",
    "INFO: task {process}:{int} blocked for more than {int} seconds.",
    "oom-kill:constraint={constraint},nodemask=(null),cpuset={function},task={process},pid={int}",
    "nfs: server {host} not responding, still trying",
    "nfs: server {host} OK",
};

}  // namespace

std::vector<std::string_view> HeldOutStatements() {
  return {std::begin(kStatements), std::end(kStatements)};
}

}  // namespace telltale::simulate
