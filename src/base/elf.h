/*
 * elf.h - a named object's bytes in an ELF64 image: a shared object of the CPU device, an AMD code object, a cubin.
 */
#ifndef LUHIP_BASE_ELF_H
#define LUHIP_BASE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the symbol's initial content stands in the image. False when the image has no such symbol with content, is
   damaged or truncated; nothing outside [image, image + bytes) is read. */
bool elf_symbol(const void *image, size_t bytes, const char *name, const unsigned char **data, size_t *size);

/* Calls visit with the name of every defined function in the images' symbol tables (a name may come twice, from
   .symtab and .dynsym) until it returns false. The name is valid during the call only. */
void elf_functions(const void *image, size_t bytes, bool (*visit)(void *user, const char *name), void *user);

/* Calls visit with each note until it returns false. The owner is NUL-terminated; the data is valid during the call. */
void elf_notes(const void *image, size_t bytes,
               bool (*visit)(void *user, const char *owner, uint32_t type, const unsigned char *data, size_t bytes),
               void *user);

#endif
