#!/bin/bash
#SBATCH --job-name=parge
#SBATCH --cpus-per-task=1
#SBATCH --output=parge-%A_%a.log
# Embeds one subgraph of the run folder RUN, by its number in the array:
#     sbatch --array=0-7 --mem=4G embed_parts.sh RUN
set -euo pipefail
run=${1:?say which run folder: sbatch --array=0-7 --mem=4G embed_parts.sh RUN}
number=${SLURM_ARRAY_TASK_ID:?submit this as an array job: sbatch --array=0-7 ...}
part=$run/parts/$(printf '%03d' "$number")

# Submitted again, it does only what is missing.
if [ -e "$part/result/manifest.json" ]; then
    echo "subgraph $number has a result"
    exit 0
fi
# The limit of the job (in MiB) less 300 for Python: who is over it is told so by parge, instead of killed by Slurm.
limit=${SLURM_MEM_PER_NODE:+--memory $((SLURM_MEM_PER_NODE - 300))MiB}
exec parge embed-part "$part" ${limit:-}
