#compdef PROGRAM
# Completion of PROGRAM for zsh.
_FUNCTION() {
    local candidate files=0
    local -a candidates
    while IFS= read -r candidate; do
        case $candidate in
            :files) files=1 ;;
            *) candidates+=("${${candidate%%$'\t'*}//:/\\:}:${candidate#*$'\t'}") ;;
        esac
    done < <($words[1] __complete "${(@)words[2,CURRENT]}" 2> /dev/null)
    (( $#candidates )) && _describe -V PROGRAM candidates
    (( files )) && _files
}
if [[ ${funcstack[1]} == _FUNCTION ]]; then
    _FUNCTION "$@"
else
    compdef _FUNCTION PROGRAM
fi
