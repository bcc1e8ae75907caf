/* Stands in for the toolkit's cuda.h on a machine without one: the driver API as far as Diogenes knows it. */
#include "driver/cuda_abi.h"
