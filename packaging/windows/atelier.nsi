; The setup program for Windows: for one person, without an administrator's rights. Built by `cargo xtask package windows`, which defines
; VERSION, VERSION_FIELDS, STAGE (folder with what is installed), OUT (the file to make), KILOBYTES (size of STAGE) and FILE_TYPES (file
; with the kinds of files that Atelier opens).
;
; Silently: `Atelier-setup.exe /S [/D=C:\folder]`, `uninstall.exe /S`. Exit codes: 0 done, 1 cancelled, 2 failed, 3 Atelier is open and could
; not be closed.

Unicode true
Target amd64-unicode
SetCompressor /SOLID lzma
SetCompressorDictSize 64
Name "Atelier"
OutFile "${OUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Atelier"
InstallDirRegKey HKCU "Software\Atelier" "InstallFolder"
ManifestDPIAware true
ManifestSupportedOS Win10
BrandingText " "

VIProductVersion "${VERSION_FIELDS}"
VIAddVersionKey "ProductName" "Atelier"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "FileDescription" "Atelier Setup"
VIAddVersionKey "LegalCopyright" "MIT OR Apache-2.0"

!include MUI2.nsh
!include WinVer.nsh
!define MUI_ICON "${STAGE}/atelier.ico"
!define MUI_UNICON "${STAGE}/atelier.ico"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\atelier.exe"
!define MUI_FINISHPAGE_RUN_TEXT "Start Atelier"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Atelier"
!define APPLICATION_KEY "Software\Classes\Applications\atelier.exe"
!include "${FILE_TYPES}"
!define CANVAS_KEY "Software\Classes\${CANVAS_CLASS}"
!define ENDING_KEY "Software\Classes\${CANVAS_ENDING}"
!define APP_PATH_KEY "Software\Microsoft\Windows\CurrentVersion\App Paths\atelier.exe"

; Makes sure that no file that is to be replaced is in use. Windows keeps the file of a running program from being written to.
!macro DefineCloseAtelier un
Function ${un}CloseAtelier
  StrCpy $R1 0
  again:
    IfFileExists "$INSTDIR\atelier.exe" 0 closed
    ClearErrors
    FileOpen $R0 "$INSTDIR\atelier.exe" a
    IfErrors in_use
    FileClose $R0
    Goto closed
  in_use:
    IntCmp $R1 0 ask
    ; Half a minute to write settings and end.
    IntCmp $R1 60 give_up
    Sleep 500
    IntOp $R1 $R1 + 1
    Goto again
  ask:
    MessageBox MB_OKCANCEL|MB_ICONQUESTION "Atelier is open. Setup closes its window and goes on; a picture that is being made is given up. Your pictures, models and settings stay." /SD IDOK IDOK close
    SetErrorLevel 1
    Quit
  close:
    StrCpy $R1 1
    ; The window's class and title; another program's window may bear the same title. Closing it is the same as a click on its cross.
    FindWindow $R0 "Window Class" "Atelier"
    IntCmp $R0 0 again
    SendMessage $R0 ${WM_CLOSE} 0 0 /TIMEOUT=5000
    Goto again
  give_up:
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "Atelier is still open. Close it, also where it runs in a console, and try again." /SD IDCANCEL IDRETRY close
    SetErrorLevel 3
    Quit
  closed:
FunctionEnd
!macroend
!insertmacro DefineCloseAtelier ""
!insertmacro DefineCloseAtelier "un."

; Removes what any version has installed, and nothing else.
!macro RemoveFiles
  Delete "$INSTDIR\atelier.exe"
  Delete "$INSTDIR\atelier.com"
  Delete "$INSTDIR\atelier.ico"
  Delete "$INSTDIR\LICENSE"
  Delete "$INSTDIR\licences.html"
  RMDir /r "$INSTDIR\builtin-model"
!macroend

Function .onInit
  ${IfNot} ${AtLeastWin10}
    MessageBox MB_OK|MB_ICONSTOP "Atelier runs on Windows 10 and newer." /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
FunctionEnd

Section
  Call CloseAtelier
  SetOutPath "$INSTDIR"
  !insertmacro RemoveFiles
  ClearErrors
  File /r "${STAGE}/*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Atelier.lnk" "$INSTDIR\atelier.exe" "" "$INSTDIR\atelier.ico"
  IfErrors 0 +4
    MessageBox MB_OK|MB_ICONSTOP "Atelier could not be installed in $INSTDIR. Is there room on the disk, and may you write there?" /SD IDOK
    SetErrorLevel 2
    Quit

  WriteRegStr HKCU "Software\Atelier" "InstallFolder" "$INSTDIR"
  ; Win+R and `start atelier` find the program.
  WriteRegStr HKCU "${APP_PATH_KEY}" "" "$INSTDIR\atelier.exe"
  ; "Open with" of the explorer.
  WriteRegStr HKCU "${APPLICATION_KEY}" "FriendlyAppName" "Atelier"
  WriteRegStr HKCU "${APPLICATION_KEY}\shell\open\command" "" '"$INSTDIR\atelier.exe" "%1"'
  !insertmacro WriteSupportedTypes
  ; Canvases are Atelier's own files: a double click opens them.
  WriteRegStr HKCU "${CANVAS_KEY}" "" "${CANVAS_NAME}"
  WriteRegStr HKCU "${CANVAS_KEY}\DefaultIcon" "" "$INSTDIR\atelier.ico"
  WriteRegStr HKCU "${CANVAS_KEY}\shell\open\command" "" '"$INSTDIR\atelier.exe" "%1"'
  WriteRegStr HKCU "${ENDING_KEY}\OpenWithProgids" "${CANVAS_CLASS}" ""
  WriteRegStr HKCU "${ENDING_KEY}" "" "${CANVAS_CLASS}"

  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "Atelier"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\atelier.ico"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "The Atelier authors"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" ${KILOBYTES}
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
SectionEnd

; Pictures, models, settings and what else Atelier has written lie in folders of their own and stay.
Section Uninstall
  Call un.CloseAtelier
  SetOutPath "$TEMP"
  !insertmacro RemoveFiles
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\Atelier.lnk"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "${APPLICATION_KEY}"
  DeleteRegKey HKCU "${CANVAS_KEY}"
  DeleteRegValue HKCU "${ENDING_KEY}\OpenWithProgids" "${CANVAS_CLASS}"
  DeleteRegKey /ifempty HKCU "${ENDING_KEY}\OpenWithProgids"
  ReadRegStr $0 HKCU "${ENDING_KEY}" ""
  ${If} $0 == "${CANVAS_CLASS}"
    DeleteRegKey HKCU "${ENDING_KEY}"
  ${EndIf}
  DeleteRegKey HKCU "${APP_PATH_KEY}"
  DeleteRegKey HKCU "Software\Atelier"
SectionEnd
