# Completion of PROGRAM for bash.
_FUNCTION_complete() {
    local line=${COMP_LINE:0:COMP_POINT} words candidate cut IFS=$' \t\n'
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    # bash breaks words at = : @ as well, and replaces only what comes after.
    cut=${words[${#words[@]}-1]}
    case ${COMP_WORDS[COMP_CWORD]} in
        = | : | @) ;;
        *) cut=${cut%"${COMP_WORDS[COMP_CWORD]}"} ;;
    esac
    COMPREPLY=()
    while IFS= read -r candidate; do
        if [[ $candidate == :files ]]; then
            compopt -o default 2> /dev/null
            continue
        fi
        candidate=${candidate%%$'\t'*}
        COMPREPLY+=("${candidate#"$cut"}")
    done < <("$1" __complete "${words[@]:1}" 2> /dev/null)
}
complete -F _FUNCTION_complete PROGRAM
