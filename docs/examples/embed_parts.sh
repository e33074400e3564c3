#!/bin/bash
#SBATCH --job-name=parge
#SBATCH --cpus-per-task=1
#SBATCH --output=parge-%A_%a.log
# Embeds one subgraph of the run folder RUN, by its number in the array:
#     sbatch --array=0-7 --mem=4G embed_parts.sh RUN
# What follows RUN goes to `parge embed-part`, such as --technique module:function for code of your own.
set -euo pipefail
run=${1:?say which run folder: sbatch --array=0-7 --mem=4G embed_parts.sh RUN}
number=${SLURM_ARRAY_TASK_ID:?submit this as an array job: sbatch --array=0-7 ...}
part=$run/parts/$(printf '%03d' "$number")

# The limit of the job (in MiB) less 300 for Python: who is over it is told so by parge, instead of killed by Slurm.
job=${SLURM_MEM_PER_NODE:-$((${SLURM_MEM_PER_CPU:-0} * ${SLURM_CPUS_PER_TASK:-1}))}
if [ "$job" -gt 0 ] && [ "$job" -le 400 ]; then
    echo "the job has $job MiB, and Python itself takes 300 of them: submit it with more, such as --mem=4G" >&2
    exit 2
fi
limit=()
if [ "$job" -gt 0 ]; then limit=(--memory "$((job - 300))MiB"); fi

# Submitted again, it does only what is missing or damaged.
exec parge embed-part --missing "$part" "${limit[@]}" "${@:2}"
