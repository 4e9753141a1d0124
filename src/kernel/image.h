/*
 * image.h - making and reading a compiled program's data (struct kernel_image, kernel.h).
 */
#ifndef LUHIP_KERNEL_IMAGE_H
#define LUHIP_KERNEL_IMAGE_H

#include "base/text.h"
#include "kernel/kernel.h"

/* One reference, empty; NULL when memory runs out. */
struct kernel_image *image_new(void);
/* Room for one more kernel at the end of image->kernels, zeroed; NULL when memory runs out. */
struct kernel_signature *image_add(struct kernel_image *image);
/* A new image with the same content and other access where the list says so. Unknown kernels and parameters, and
   what cannot be, are errors that say what there is. */
luhip_status image_with_access(const struct kernel_image *image, const luhip_access *access, size_t naccess,
                               struct kernel_image **changed, luhip_error **error);
/* "axpy, copy; templates (name their arguments in `names`): scale", or "no kernels". */
void image_list(const struct kernel_image *image, struct text *text);

#endif
