// The bundled script and style as bytes. The build says where they are: -Wa,-I FOLDER.
  .section .rodata
  .global diogenes_page_script, diogenes_page_script_end, diogenes_page_style, diogenes_page_style_end
diogenes_page_script:
  .incbin "page.js"
diogenes_page_script_end:
diogenes_page_style:
  .incbin "page.css"
diogenes_page_style_end:
  .section .note.GNU-stack, "", @progbits
